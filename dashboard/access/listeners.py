"""Find the open WebSockets whose people may not see any more what they listen to."""

from collections.abc import Iterable

from dashboard.access.signing_in import rights
from dashboard.access.tokens import links, tokens


async def withdrawn(keys: Iterable[str]) -> set[str]:
    """Return the keys of the listeners whose sessions are over, or whose links or access tokens are.

    A key is what `rights.listener_of`, `links.key_of` or `tokens.key_of` has returned.
    """
    wanted = set(keys)
    of_links = {key for key in wanted if key.startswith(links.KEY)}
    of_tokens = {key for key in wanted if key.startswith(tokens.KEY)}
    gone = await rights.withdrawn(wanted - of_links - of_tokens)
    gone |= await links.ended(of_links) if of_links else set()
    return gone | (await tokens.ended(of_tokens) if of_tokens else set())
