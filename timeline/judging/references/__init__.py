"""What rules share about objects that need, own or replace each other."""
