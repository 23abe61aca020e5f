"""The database engine of web processes: Django's for PostgreSQL, but sessions are kept between requests."""
