"""What the rules share: findings and their severity, verdicts on absence, leader elections, advice, coverage.

Everything here is pure. One rule lives in one file of `timeline.rules`; `timeline.judge` runs all of them.
"""
