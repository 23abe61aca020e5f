"""Set up the roles of the embedded PostgreSQL. Causeline's role has rights only in its own database.

The bootstrap superuser has no password, and pg_hba.conf asks everybody for one, so nobody can log in as a superuser.
Roles are set up in PostgreSQL's single-user mode, which needs no login, before the server starts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SUPERUSER = "postgres"
ROLE = DATABASE = "causeline"
_ITERATIONS = 4096  # PostgreSQL's default; the password is random, so it cannot be guessed anyway

# Earlier versions of Causeline used the bootstrap superuser itself. Its name is given to a new role, because PostgreSQL
# does not let the bootstrap user be anything else than a superuser.
_FREE_THE_NAME = f"""
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_authid WHERE oid = 10 AND rolname = '{ROLE}') THEN
        CREATE ROLE causeline_renames SUPERUSER;
        SET SESSION AUTHORIZATION causeline_renames;
        ALTER ROLE {ROLE} RENAME TO {SUPERUSER};
        SET SESSION AUTHORIZATION {SUPERUSER};
        DROP ROLE causeline_renames;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN
        CREATE ROLE {ROLE};
    END IF;
    ALTER ROLE {SUPERUSER} PASSWORD NULL;
END $$
"""

# Sequences that belong to a column change their owner with the table, as indexes do.
_GIVE_OBJECTS = f"""
DO $$ DECLARE object text; BEGIN
    FOR object IN
        SELECT oid::regclass FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relowner = 10 AND relkind IN ('r', 'p', 'S', 'v', 'm')
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype IN ('a', 'i') AND relkind = 'S')
    LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO {ROLE}', object);
    END LOOP;
END $$
"""


def pg_hba(password: str) -> str:
    """Return the text of pg_hba.conf. The server listens only on its socket.

    The comment changes with the password, so that the file shows whether the roles have been set up with it.
    """
    digest = hashlib.sha256(password.encode()).hexdigest()[:16]
    return f"# Written by Causeline once its role had the password {digest}.\nlocal all all scram-sha-256\n"


def role_statements(password: str, *, for_tests: bool) -> Iterator[str]:
    """Yield the SQL statements that set up Causeline's role. They can be run in any database of the server.

    With `for_tests`, the role may also create and drop databases.
    """
    rights = "CREATEDB" if for_tests else "NOCREATEDB"
    yield _FREE_THE_NAME
    yield (
        f"ALTER ROLE {ROLE} LOGIN NOSUPERUSER {rights} NOCREATEROLE NOREPLICATION NOBYPASSRLS"
        f" PASSWORD '{_verifier(password)}'"
    )
    if for_tests:
        yield f"GRANT pg_checkpoint, pg_signal_backend TO {ROLE}"
    yield f"ALTER DATABASE {DATABASE} OWNER TO {ROLE}"


def object_statements() -> Iterator[str]:
    """Yield the statements that give the role what earlier versions created as superuser, in Causeline's database."""
    yield _GIVE_OBJECTS


def _verifier(password: str) -> str:
    """Return what PostgreSQL stores of a password (SCRAM-SHA-256), so that no statement and no log contains it."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    encoded = (base64.b64encode(each).decode() for each in (salt, stored, server))
    return "SCRAM-SHA-256${}:{}${}:{}".format(_ITERATIONS, *encoded)
