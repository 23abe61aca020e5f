"""What is known of a recording: the lives of its objects, how complete it is, and indexes over both.

`World` is the entrance. Everything here is pure; the result does not depend on the order in which entries arrive.
Judgements about the history belong into `timeline.judging` and `timeline.rules`.
"""
