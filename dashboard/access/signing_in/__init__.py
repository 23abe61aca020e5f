"""How people sign in: with accounts, a provider, a proxy or the start-up token; and the sessions that follow."""
