"""Compare runs of the same work: the one that broke with those that went well. It does no I/O.

`lives` has the nouns, `roles` aligns objects by what they are rather than by time, `specs` reads what was asked for,
and `tracks` makes runs of a world. `ordering`, `delays`, `counts` and `fields` find differences; `comparison` is the
entrance. What is read from PostgreSQL becomes the same runs in `timeline.queries.objects.comparing`.
"""
