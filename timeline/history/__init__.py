"""This wing holds what is known of one source: the tracks of its objects, how complete it is, and indexes over both.

`World` is the entrance, and `RecordingWorld` the same for sources that grow. Everything here is pure and does not
depend on the order in which entries arrive. Judgements about the history belong into `timeline.judging` and
`timeline.rules`.
"""
