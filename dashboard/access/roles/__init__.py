"""Who may do what: the table of what each route needs, the roles that people have, and the decision.

Nothing here knows how somebody has signed in.
"""
