"""This module says why a file is not a recording, and why a line cannot be used. It never quotes file contents."""

import re
from collections.abc import Sequence

import msgspec

from collectors.formats.stream import TOO_DEEP, Skipped

WANTED = (
    "Causeline reads Kubernetes audit logs, also as clouds and log stores export them; what kubectl get, get -w,"
    " events and cluster-info dump write; the logs of controllers; archives of must-gather and similar tools; logs of"
    " OpenTelemetry; and what it exported itself. All of them plain, compressed or in archives."
)
_REASONS_SHOWN = 10  # files whose reason a message gives
_LOOKS = {
    b"\x89PNG": "it is a PNG picture",
    b"\xff\xd8\xff": "it is a JPEG picture",
    b"%PDF": "it is a PDF document",
    b"\x7fELF": "it is a program",
    b"7z\xbc\xaf\x27\x1c": "it is a 7z archive; unpack it first",
    b"Rar!": "it is a RAR archive; unpack it first",
    b"\xff\xfe": "it is UTF-16 text, as PowerShell writes it; save it as UTF-8",
    b"\xfe\xff": "it is UTF-16 text; save it as UTF-8",
}
_BBOLT = re.compile(rb"\0*\x04\0{7}\xed\xda\x0c\xed")  # the first page of a database of etcd
_SNAPSHOT = (
    "it is a snapshot of etcd, whose objects are in a binary form that is not read here; restore it with etcdutl"
    " snapshot restore, start an API server on it, and record that with causeline record or kubectl get -o json"
)
KUBECONFIG = "it is a kubeconfig, which holds credentials; it was not kept"
_MARKUP = re.compile(rb"\s*<(!doctype|html|\?xml)", re.IGNORECASE)
_KUBECONFIG = re.compile(rb"""["']?\bkind\b["']?\s*:\s*["']?Config\b""")
# A Config of an API group, such as operator.openshift.io, is an object like others.
_OTHER_CONFIG = re.compile(
    rb"""\s*\{\s*"(?:apiVersion"\s*:\s*"[a-z0-9.-]+/\w+"\s*,\s*"kind"\s*:\s*"Config\b"""
    rb"""|kind"\s*:\s*"Config"\s*,\s*"apiVersion"\s*:\s*"[a-z0-9.-]+/)"""
)
_OTHER_CONFIG_IN_YAML = re.compile(rb"""^apiVersion:[ \t]*["']?[a-z0-9.-]+/""", re.MULTILINE)
_CLUSTERS = re.compile(rb"^(?:clusters|users):", re.MULTILINE)  # in a kubeconfig whose kind comes after the head
_KEYS = re.compile(rb"^[ -]+(?:client-key|client-certificate|certificate-authority)-data:", re.MULTILINE)
_KUBECONFIG_NAME = re.compile(
    r"(?:.*[./_-])?kubeconfig(?:\.(?:ya?ml|json|conf|txt|bak))?"
    r"|(?:super-)?admin\.conf|(?:kubelet|scheduler|controller-manager)\.conf",
    re.IGNORECASE,
)
_YAML = re.compile(rb"(?:[^\S\n]*(?:#[^\n]*)?\n)*(---|[\w.-]+:(\s|$))")


def rejection_message(refused: Sequence[Skipped]) -> str:
    """Return a message that says why none of these files is a recording, and what Causeline reads."""
    sentences = [f"{each.file} {each.reason}." for each in refused[:_REASONS_SHOWN]]
    if len(refused) > _REASONS_SHOWN:
        sentences.append(f"So it is with {len(refused) - _REASONS_SHOWN} more.")
    if len(refused) > 1:
        sentences.insert(0, "None of these files can be read as a recording.")
    if any("Causeline knows" in each.reason for each in refused):
        sentences.append(WANTED)
    return " ".join(sentences)


def is_kubeconfig_name(path: str) -> bool:
    """Return whether a file has a name under which tools write kubeconfigs, such as `.kube/config` or `admin.conf`."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    return bool(_KUBECONFIG_NAME.fullmatch(name)) or (name == "config" and folder.rpartition("/")[2] == ".kube")


def is_kubeconfig(head: bytes) -> bool:
    """Return whether a file begins as a kubeconfig does: with fields that no object of the API has."""
    return bool(_CLUSTERS.search(head) and _KEYS.search(head))


def is_other_config(head: bytes) -> bool:
    """Return whether a file with an object of kind Config begins with one of an API group: a kubeconfig has none."""
    return bool(_OTHER_CONFIG.match(head) or (_OTHER_CONFIG_IN_YAML.search(head) and not _CLUSTERS.search(head)))


def certain_rejection(head: bytes) -> str:
    """Return what a file is if its first bytes settle that it is not a recording; "" otherwise."""
    for magic, words in _LOOKS.items():
        if head.startswith(magic):
            return words
    if _BBOLT.match(head):
        return _SNAPSHOT
    if _MARKUP.match(head):
        return "it is a web page or XML"
    return KUBECONFIG if _KUBECONFIG.search(head) and not is_other_config(head) else ""


def looks_like(head: bytes) -> str:
    """Return what a file seems to be, in words that help the person who chose it.

    The words never quote its content, which may be secret.
    """
    if words := certain_rejection(head):
        return words
    if not head.strip():
        return "it begins with nothing but blank lines"
    if head.lstrip().startswith((b"{", b"[")):
        return "it is JSON, but neither audit events nor Kubernetes objects stand in it"
    if b"\0" in head:
        return "it is not text"
    return "it is YAML, but no Kubernetes object begins in it" if _YAML.match(head) else "it is not JSON"


def reason_of(error: Exception) -> str:
    """Return why a line, a record or a document cannot be used, from the exception that reading it raised."""
    match error:
        case RecursionError():
            return TOO_DEEP
        case UnicodeDecodeError():
            return f"it is not UTF-8: {error}"
        case msgspec.ValidationError():
            return f"a field is not as Kubernetes writes it: {error}"
        case msgspec.DecodeError():
            return f"not JSON: {error}"
        case ValueError():
            return str(error)
    return f"it cannot be read ({type(error).__name__})"
