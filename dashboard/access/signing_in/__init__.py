"""Let people sign in, with a local account, an identity provider, a proxy or the start-up token, and keep their
sessions."""
