#!/bin/sh
# The image postgres runs this once, when it creates the database. Causeline's role is not a superuser. The superuser
# has no password, so nobody can log in as the superuser over the network.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\getenv password POSTGRES_PASSWORD
CREATE ROLE causeline LOGIN PASSWORD :'password';
CREATE DATABASE causeline OWNER causeline;
ALTER ROLE CURRENT_USER PASSWORD NULL;
SQL
