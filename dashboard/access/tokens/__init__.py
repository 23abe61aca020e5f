"""Texts that let a program or a reader in without an account: access tokens, share links, embedded timelines."""
