"""Decide whether a string is neutral: whether redaction changes nothing because of it. It does no I/O.

A neutral string is no credential and holds none, wherever in an object it stands; and as the name of a field, as the
name in a pair of name and value, or as an argument of a command it makes no other value a credential. An object whose
strings are all neutral stays as it is.
"""

import re
from functools import cache

from ahocorasick_rs import BytesAhoCorasick

from collectors.redaction import policy
from collectors.redaction.commands import COMMAND_LETTERS, PROGRAMS, SECOND_WORDS, concerns_other_words
from collectors.redaction.field_names import COPY_LETTERS, is_copy
from collectors.redaction.forms import beginnings, is_webhook
from collectors.redaction.objects import clean_text, name_of_managed
from collectors.redaction.roles import PARENTS, TELLING, TELLING_LETTERS, is_environment, is_telling
from collectors.redaction.text import without_known_forms
from timeline.core.secret_names import grade, telling_letters

_OTHERS = " ./:_-()'"  # in ordinary texts, besides letters and digits
_ASSIGNED = b" assigned "  # is in each Event about a scheduled Pod, and "sig" in it is no name
_QUOTE = rb"\u0022"  # the only escape in ordinary texts
_IN_ORDINARY = bytes(code for code in range(128) if chr(code).isalnum() or chr(code) in f'{_OTHERS}"')
_LOWER = bytes(range(256)).lower()
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha() and chr(code) != '"')
_RUNS = bytes(ord("a") if chr(code).isalnum() or chr(code) in "+/" else ord(" ") for code in range(128)) * 2
_LONG_RUN = b"a" * 17  # characters of Base64; a shorter text is decoded only if it is nothing else
_SHORT_RUN = re.compile(rb'(?<=")[A-Za-z0-9+/]{16}(?=")')  # the shortest text that is decoded
_MOST_COLONS = 3  # in texts that are no line of a password file of PostgreSQL
# This finds the second part of each token of kubeadm, and also some texts that are no such tokens. Credentials of all
# other forms that have no fixed beginning are longer than _LONG_RUN, or have characters that no ordinary text has.
_KUBEADM = re.compile(rb"\.(?=[a-f0-9]{0,15}[g-z])[a-z0-9]{16}(?![\w.-])")


def is_neutral(text: str) -> bool:
    """Return whether redaction changes nothing because of a string, wherever it stands."""
    return (
        clean_text(text) == text
        and not grade(text)
        and not is_environment(text)
        and not is_copy(text, text)
        and without_known_forms(text) == text
        and not is_telling(text)
        and text not in PARENTS
        and not concerns_other_words(text)
        and name_of_managed(text, "") == text
        and not (text.startswith("f:") and grade(text[2:]))
    )


def are_ordinary(texts: list[bytes]) -> bool:
    """Return whether it is certain by their letters alone that these texts are neutral.

    They are as they are between quotes in JSON, and a quote in them is written as an escape of its code.

    Names of objects and sentences about them are mostly such texts. To judge them together takes a fraction of the time
    that `is_neutral` takes for each.
    """
    joined = b'"%b"' % b'"'.join(texts).replace(_QUOTE, b"'")
    letters = joined.replace(_ASSIGNED, b'"').translate(_LOWER, _NO_LETTERS)
    return (
        not joined.translate(None, _IN_ORDINARY)
        and not _marks().find_matches_as_indexes(joined)
        and not _names().find_matches_as_indexes(letters)
        and _LONG_RUN not in (runs := joined.translate(_RUNS))
        and not (_LONG_RUN[1:] in runs and _SHORT_RUN.search(joined))
        and joined.count(b":") <= _MOST_COLONS
        and not (b"." in joined and _KUBEADM.search(joined))
        and not ((b"://" in joined or b"hook" in joined) and is_webhook(joined.decode()))
        and not policy.patterns()
    )


@cache
def _names() -> BytesAhoCorasick:
    """Return what finds letters that each name of a credential has, and words that text and commands are judged by."""
    words = {"env", "identified", "loginmodule", "basic", "redis", "valkey", "puttyuserkey"}
    pieces = telling_letters() | COMMAND_LETTERS | COPY_LETTERS | TELLING_LETTERS | words
    return BytesAhoCorasick(piece.encode() for piece in pieces)


@cache
def _marks() -> BytesAhoCorasick:
    """Return what finds texts that are not ordinary: credentials by how they begin, and texts that are whole words."""
    tokens = [before + each for before in '"' + _OTHERS for each in beginnings()]
    words = [f'"{each}"' for each in TELLING | PARENTS | SECOND_WORDS]
    programs = [f'{before}{each}{end}"' for before in '"/' for each in PROGRAMS for end in ("", ".exe")]
    starts = ['""', *(f'"{each}' for each in _OTHERS if each != "("), '"v:', '"k:', '"f:', "  ", " -", "' '"]
    return BytesAhoCorasick(
        text.encode()
        for text in (
            *tokens,
            *words,
            *programs,
            *starts,
            "eyJ",
            "----",
            ".atlasv1.",
            ":A",
            "T3BlbkFJ",
            " /p:",
            '"/p:',
            "crypt('",
        )
    )
