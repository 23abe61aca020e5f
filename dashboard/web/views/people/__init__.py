"""The pages on which people sign in, and on which they see and change who may do what."""
