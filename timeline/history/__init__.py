"""Everything that is known of one source: the tracks of its objects, how complete it is, and indexes over both.

Begin with `World`, which answers all questions about a source; `RecordingWorld` is its version for sources that grow.
Everything here is pure and does not depend on the order in which entries arrive. Judgements about the history belong
into `timeline.judging` and `timeline.rules`.
"""
