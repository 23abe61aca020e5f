"""Give the reasons why a file is not a recording, and why a line cannot be used. File contents are never quoted."""

import json
import re
from collections.abc import Sequence

from collectors.formats.stream import HEAD_BYTES, Skipped
from collectors.normalise.log_lines import is_timeless, log_text

WANTED = (
    "Causeline reads Kubernetes audit logs, also as clouds and log stores export them; what kubectl get, get -w,"
    " events and cluster-info dump write; the logs of programs; archives of must-gather and similar tools; logs of"
    " OpenTelemetry; and what it exported itself. All of them plain, compressed or in archives."
)
_REASONS_SHOWN = 10  # files whose reason a message gives
_LOOKS = {
    b"\x89PNG": "it is a PNG picture",
    b"\xff\xd8\xff": "it is a JPEG picture",
    b"%PDF": "it is a PDF document",
    b"GIF8": "it is a GIF picture",
    b"\x7fELF": "it is a program",
    b"JAVA PROFILE 1.0": "it is a heap dump of a Java program",
    b"SQLite format 3\0": "it is a database of SQLite",
    b"PAR1": "it is a Parquet file",
    b"LPKSHHRH": "it is a journal of systemd in its binary form; write it as text with journalctl --file FILE -o json",
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
_PEM = re.compile(rb"\s*-----BEGIN [A-Z ]{1,40}-----")
_MARKUP = re.compile(rb"\s*+<(?:!doctype|html|\?xml|!--|[a-z][\w:-]{0,60}+[\s>/])", re.IGNORECASE)
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
_YAML = re.compile(rb"(?:[^\S\n]*+(?:#[^\n]*+)?+\n)*+(---|[\w.-]++:(\s|$))")
_JSON = re.compile(rb"""\s*+(?:\{\s*+["'}]|\{\s*+$|\[\s*+[{\["\]]|\[\s*+$)""")
_NO_EVENTS = "it is JSON, but neither audit events nor Kubernetes objects stand in it"
_SAVE = "save the log with kubectl logs --timestamps, or with journalctl -o short-iso"
_LINES = 40  # the first lines, which show what a text is
_LINE = 1000  # bytes of each of these that are looked at
_UPTIME = re.compile(r"(?:<\d{1,3}>)?\[ {0,12}\d{1,9}\.\d{2,9}s?\]|[A-Z]{4,5}\[\d{4,9}\] |\+?\d{1,9}\.\d{3,9}s? ")
_TABLES = (  # what a line shows that has this form, in its words
    (
        re.compile(r"\A(?:NAMESPACE {1,200})?(?:POD {1,200})?NAME {1,200}CPU\(cores\)"),
        "it is a table of kubectl top, which shows neither objects nor times; use kubectl get pods -o json",
    ),
    (
        re.compile(
            r"\A(?:(?=.{0,200}\b(?:NAME|AGE|STATUS)\b)"
            r"[A-Z][A-Z0-9()/:._-]{1,40}(?:(?: {1,200}|\t)[A-Z][A-Z0-9()/:._-]{1,40}){1,30}\s*$"
            r"|[a-z][\w./-]{0,300} {2,100}\d{1,4}/\d{1,4} {2,100}[A-Z][\w:]{1,60} {2,100}\d)"
        ),
        "it is a table of kubectl get, which has neither revisions nor times; use kubectl get -o json, or"
        " kubectl get -w -o json --output-watch-events",
    ),
    (
        re.compile(r"\AName: {2,40}\S"),
        "it is what kubectl describe prints, without revisions; use kubectl get -o json for the object, and kubectl get"
        " events -o json for its Events",
    ),
    (
        re.compile(r"\A# (?:HELP|TYPE|UNIT) [A-Za-z_:]"),
        "it is metrics for Prometheus, which show no changes of objects; use kubectl get -w -o json instead",
    ),
    (
        re.compile(r"\A(?:error: |Error from server|No resources found|The connection to the server )"),
        "it is a message of kubectl, which found nothing; mend what the message says, and save the objects once more",
    ),
    (
        re.compile(r"\A(?:goroutine \d{1,9} \[|(?:heap|goroutine|threadcreate|mutex) profile: )"),
        "it is a profile or the stacks of a Go program, without times; save its log with kubectl logs --timestamps",
    ),
)
_KEY_OR_ITEM = re.compile(r"\s*+(?:- |#|---|\}|\]|[^\s:]{1,200}:(?:\s|$))|\s{2,}")
_CONTROLS = (b"\x0e", b"\x0f", b"\x10", b"\x11", b"\x12", b"\x13", b"\x14", b"\x7f")
_UNCLEAR = re.compile(r"[\[(]?\d\d?/\d\d?/\d{4},? \d")  # the day or the month first
_TIME_ANYWHERE = re.compile(r"\d\d?:\d\d:\d\d")
_CELLS = re.compile(r"[^,;\t\n]{0,200}([,;\t])")


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
    if _PEM.match(head):
        return "it is a key or a certificate; it was not kept"
    return KUBECONFIG if _KUBECONFIG.search(head) and not is_other_config(head) else ""


def looks_like(head: bytes) -> str:
    """Return what a file seems to be, in words that help the person who chose it.

    The words never quote its content, which may be secret.
    """
    if words := certain_rejection(head):
        return words
    if not head.strip():
        return "it begins with nothing but blank lines"
    if _is_binary(head):
        return "it is not text"
    lines = [line for line in head[: _LINES * _LINE].decode("utf-8", "replace").splitlines() if line.strip()][:_LINES]
    lines = [line[:_LINE] for line in lines] or [""]
    for form, words in _TABLES:
        if form.match(lines[0]):
            return words
    return _of_lines(lines) or _of_text(head, lines)


def _is_binary(head: bytes) -> bool:
    """Return whether bytes are no text: they hold NUL, or many characters that no text has."""
    odd = sum(map(head[:_LINE].count, (*(bytes([each]) for each in range(1, 9)), *_CONTROLS)))
    return b"\0" in head or 10 * odd > len(head[:_LINE])


def _of_lines(lines: Sequence[str]) -> str:
    """Return what is wrong with lines that seem to be of a log, but cannot be read as one; "" if they do not seem
    so."""
    most = len(lines) // 2
    if sum(map(bool, map(_UPTIME.match, lines))) > most:
        return (
            "its lines say for how long a machine or a program had run, not when they were written; "
            f"{_SAVE}, or dmesg --time-format iso"
        )
    if sum(map(is_timeless, lines)) > most:
        return f"it is the log of a program, but these lines have no time; {_SAVE}"
    return ""


def _of_text(head: bytes, lines: Sequence[str]) -> str:
    if _JSON.match(head):
        return _fault_of_json(head)
    if _YAML.match(head) and sum(map(bool, map(_KEY_OR_ITEM.match, lines))) * 2 > len(lines):
        return "it is YAML, but no Kubernetes object begins in it"
    cells = _CELLS.match(lines[0])
    if cells and len(lines) > 1 and all(line.count(cells[1]) == lines[0].count(cells[1]) for line in lines[:3]):
        return "it is a table (CSV) without audit events; export the audit log or the objects as JSON"
    if timed := sum(map(bool, map(log_text, lines))):
        return (
            f"it is text of which {timed} of the first {len(lines)} lines begin with a time, too few for a log; {_SAVE}"
        )
    if sum(map(bool, map(_UNCLEAR.match, lines))) * 2 > len(lines):
        return f"of its dates, nothing says which number is the month; {_SAVE}"
    if sum(map(bool, map(_TIME_ANYWHERE.search, lines))) * 2 > len(lines):
        return f"these lines have times, but they are not written as in a log that is known here; {_SAVE}"
    return f"these lines have no time, and neither objects nor audit events stand in them; of a program, {_SAVE}"


def _fault_of_json(head: bytes) -> str:
    """Return why what begins like JSON is no recording: where it is broken, or else that nothing of use is in it."""
    text = head.decode("utf-8", "replace")
    try:
        json.JSONDecoder().raw_decode(text, len(text) - len(text.lstrip()))
    except json.JSONDecodeError as error:
        if len(head) < HEAD_BYTES or error.pos < len(text) - _LINE:  # else the rest of it may follow
            where = f"line {error.lineno}, column {error.colno}"
            return f"it is not JSON: it cannot be read from {where} on; save it once more, or mend this place"
    except RecursionError:
        pass
    return _NO_EVENTS
