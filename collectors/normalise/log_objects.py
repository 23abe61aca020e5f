"""Find the objects that a text of a program names. It does no I/O."""

import re

MOST = 8  # objects that a line names at most
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_OBJECT = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_QUALIFIED = re.compile(rf"(?<![\w./:@-])({_LABEL})/({_OBJECT})(?![\w/-])")
_IN_NAMESPACE = re.compile(rf"\[({_OBJECT})\],? (?:in )?namespace:? \[({_LABEL})\]")
_NAMESPACE = re.compile(rf'(?i:\bnamespace)[=:]\s?"?({_LABEL})(?![\w.])')
_KEYS = "name|service|pod|job|lease|endpoints|endpointslice|deployment"
_OF_KIND = re.compile(rf'(?i:\b({_KEYS}))="?({_LABEL}/{_OBJECT})(?![\w/-])')
_NAME = re.compile(rf'(?i:\b({_KEYS}))[=:]\s?"?({_OBJECT})(?![\w/])')
_ALONE = re.compile(rf'\[({_OBJECT})\]|(?i:\b({_KEYS}))="?({_OBJECT})(?![\w/])')


def objects_in(text: str) -> tuple[str, ...]:
    """Return the objects that a text names, each as "namespace/name", or "*/name" without a namespace.

    If the text says the kind of the object, as klog does in `pod="shop/web"`, the kind is before it in lower case.

    What merely looks like one is returned as well: that does no harm, because nobody asks for an object that does not
    exist.
    """
    found = dict.fromkeys(f"{_kind(each[1])}{each[2]}" for each in _OF_KIND.finditer(text))
    known = {each[2] for each in _OF_KIND.finditer(text)}
    found |= dict.fromkeys(name for each in _QUALIFIED.finditer(text) if (name := f"{each[1]}/{each[2]}") not in known)
    found |= dict.fromkeys(f"{each[2]}/{each[1]}" for each in _IN_NAMESPACE.finditer(text))
    if namespace := _NAMESPACE.search(text):
        found |= dict.fromkeys(f"{_kind(each[1])}{namespace[1]}/{each[2]}" for each in _NAME.finditer(text))
    named = {each.rpartition("/")[2] for each in found}
    alone = ((_kind(each[2]), each[1] or each[3]) for each in _ALONE.finditer(text))
    found |= dict.fromkeys(
        f"{kind}*/{name}" for kind, name in alone if name not in named and any(map(str.isalpha, name))
    )
    return tuple(found)[:MOST]


def _kind(key: str | None) -> str:
    """Return the kind that a line says of a name, in lower case with a slash after it; "" if it says none."""
    return f"{key.lower()}/" if key and key.lower() != "name" else ""
