"""These modules write rows of the database for tests, and compare what its tables hold."""
