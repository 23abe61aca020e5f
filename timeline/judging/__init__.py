"""This package holds what rules share: findings, how sure an order is, and facts about Kubernetes.

- About rules: `rulebook` (rules and their settings), `findings`, `verdicts` (how sure an order is), `advice`,
  `coverage` (what each rule can judge in a source) and `remedies` (what to record so that it can judge more).
- About changes that somebody meant: `intents` (which these are) and `changes` (what belongs together, how it ranks).
- About objects: `incarnations` (the objects of one name), `endings` (whether an object still existed), `failures`,
  `children`, `references`, and modules about one kind: `leases`, `holders`, `elections`, `endpoints`, `readiness`,
  `load_balancers`, `job_limits`, `job_tracking`, `volcano_claims`, `cleanup`.
- About the logs of programs: `consumers` (what a consumer of endpoints did with those of each Service).

Everything here is pure. Each rule is one file of `timeline.rules`; `timeline.judge` runs all of them.
"""
