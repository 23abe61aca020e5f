#!/bin/sh
# The image postgres runs this once, when it makes the database: Causeline's role is no superuser, and nobody can log in
# over the network as the one that is.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\getenv password POSTGRES_PASSWORD
CREATE ROLE causeline LOGIN PASSWORD :'password';
CREATE DATABASE causeline OWNER causeline;
ALTER ROLE CURRENT_USER PASSWORD NULL;
SQL
