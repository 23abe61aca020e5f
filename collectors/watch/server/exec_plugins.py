"""Reduce the exec plugin of a kubeconfig to the fields that Causeline uses. It does no I/O."""

from pathlib import Path
from typing import Any

from collectors.watch.server.failures import Unusable


def exec_plugin(user: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Return the fields of a user that name a program, or the token that an auth-provider has left. Raise Unusable."""
    if isinstance(user.get("exec"), dict):
        return {"exec": _exec(user["exec"], folder)}
    provider = user.get("auth-provider")
    if isinstance(provider, dict) and provider.get("name") == "oidc" and isinstance(provider.get("config"), dict):
        # kubectl renews this token in the file. The client library would do so without checking the issuer's
        # certificate, so that is left to kubectl; the file is read again once the server refuses the token.
        token = provider["config"].get("id-token")
        if isinstance(token, str):
            return {"token": token}
    raise Unusable("Causeline cannot use its auth-provider; kubectl has replaced auth-providers by exec plugins.")


def _exec(given: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    command, version = given.get("command"), given.get("apiVersion")
    if not isinstance(command, str) or not command or not isinstance(version, str):
        raise Unusable("Its program (exec) has no command, or no apiVersion.")
    if "/" in command and folder is not None:
        command = str(folder / command)  # as client-go does; an absolute path stays as it is
    arguments, variables = given.get("args") or [], given.get("env") or []
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        raise Unusable("The arguments of its program (exec) are not a list of texts.")
    if not isinstance(variables, list) or not all(map(_is_variable, variables)):
        raise Unusable("The variables of its program (exec) are not a list of names and values.")
    return {
        "command": command,
        "apiVersion": version,
        "args": arguments,
        "env": [{"name": each["name"], "value": each["value"]} for each in variables],
        "provideClusterInfo": given.get("provideClusterInfo") is True,
    }


def _is_variable(each: object) -> bool:
    return isinstance(each, dict) and isinstance(each.get("name"), str) and isinstance(each.get("value"), str)
