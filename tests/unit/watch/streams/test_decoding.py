"""These tests turn lists and events of a watch into entries: who made a change, which objects exist, what cannot be
used."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.gate import Limits, admit
from collectors.watch.server.failures import Forbidden, Gone, RequestRefused, refused
from collectors.watch.streams.decoding import Bookmark, Malformed, ObjectDecoder, key_in, key_of, page_of
from collectors.watch.streams.resources import Resource
from tests.inputs.credentials import FORMS
from tests.properties import examples
from timeline.core.entries import FOREVER, Change, Clock, Entry, Mark, MarkType
from timeline.history.codec import line_of
from timeline.kinds import seconds

PODS = Resource("", "v1", "Pod", "pods", True)
LEASES = Resource("coordination.k8s.io", "v1", "Lease", "leases", True)
MAPS = Resource("", "v1", "ConfigMap", "configmaps", True)
AT = seconds("2026-11-21T08:00:00Z")


def pod(revision: int, *writes: str, uid: str = "u1", **more: Any) -> dict[str, Any]:
    """Return a Pod; each write is "manager second"."""
    managers = [
        {"manager": manager, "time": f"2026-11-21T07:59:{second}Z", "operation": "Update"}
        for manager, second in map(str.split, writes)
    ]
    names = {"name": "a", "namespace": "n", "uid": uid, "resourceVersion": str(revision)}
    metadata = {**names, "creationTimestamp": "2026-11-21T07:59:00Z", "managedFields": managers}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **more}


def decoded(reading: ObjectDecoder, change: str, body: Any, reached: int = 0, arrived: int = AT) -> Entry:
    found = reading.event(orjson.dumps({"type": change, "object": body}), arrived, reached)
    assert isinstance(found, Entry)
    return found


def test_an_event_is_what_an_uploaded_watch_gives_and_when_it_arrived() -> None:
    entry = decoded(ObjectDecoder(PODS, {}), "ADDED", pod(7, "kubelet 00"))
    assert (entry.change, entry.resource_version) == (Change.CREATED, 7)
    assert (entry.clock, entry.staged) == (Clock.OBJECT, FOREVER)
    assert (entry.received, entry.arrived, entry.place) == (seconds("2026-11-21T07:59:00Z"), AT, None)
    assert entry.user_agent == "kubelet"
    assert orjson.loads(entry.body)["kind"] == "Pod"


def test_the_items_of_a_list_have_its_kind_and_were_observed() -> None:
    reading = ObjectDecoder(PODS, {})
    bare = {name: value for name, value in pod(7).items() if name not in ("apiVersion", "kind")}
    entry = reading.listed(orjson.dumps(bare), AT)
    assert entry is not None
    assert (entry.change, entry.ref.kind, entry.arrived) == (Change.OBSERVED, "Pod", AT)
    assert reading.live_objects["u1"].revision == 7


def test_a_writer_is_named_by_a_fresh_sign_alone() -> None:
    reading = ObjectDecoder(PODS, {})
    known = decoded(reading, "ADDED", pod(7, "kubectl 00"))
    assert decoded(reading, "MODIFIED", pod(8, "kubectl 00")).user_agent == ""  # a binding leaves no sign
    assert decoded(reading, "MODIFIED", pod(9, "kubectl 00", "kubelet 03")).user_agent == "kubelet"

    class Stood:
        ref, revision, owner = known.ref, 7, None

    for sign, writer in (("kubectl 00", ""), ("kubectl 58", "kubectl")):  # of one that was not seen here
        assert decoded(ObjectDecoder(PODS, {"u1": Stood()}), "MODIFIED", pod(8, sign)).user_agent == writer
    reading = ObjectDecoder(LEASES, {})
    lease = {**pod(7, "volcano 10"), "apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    decoded(reading, "ADDED", lease)
    assert decoded(reading, "MODIFIED", lease).user_agent == "volcano"  # every write of a Lease has its writer


def test_what_was_observed_before_changes_nothing() -> None:
    reading = ObjectDecoder(PODS, {})
    decoded(reading, "ADDED", pod(7))
    deleted = decoded(reading, "DELETED", pod(9))
    again = decoded(reading, "MODIFIED", pod(8), reached=9)
    assert (deleted.change, again.resource_version) == (Change.DELETED, 8)
    assert not reading.live_objects
    decoded(reading, "ADDED", pod(10, uid="u2"), reached=9)
    assert reading.event(orjson.dumps({"type": "ADDED", "object": pod(10, uid="u2")}), AT, 10) is None


def test_what_a_list_no_longer_shows_went_somewhere_in_the_gap() -> None:
    reading = ObjectDecoder(PODS, {})
    decoded(reading, "ADDED", pod(7))
    decoded(reading, "ADDED", pod(8, uid="u2"))
    (gone,) = reading.vanished({"u2"}, AT, AT + 5_000_000)
    assert (gone.ref.uid, gone.change, gone.resource_version) == ("u1", Change.DELETED, None)
    assert (gone.received, gone.staged, gone.arrived) == (AT, AT + 5_000_000, AT + 5_000_000)
    assert list(reading.live_objects) == ["u2"]


def test_the_data_of_a_config_map_are_left_out() -> None:
    """The server should send only metadata. If it sends more, the rest is left out."""
    full = {**pod(7), "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "private"}, "binaryData": {"b": "eA=="}}
    bare = {**pod(7), "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}
    for body in (full, bare):
        entry = decoded(ObjectDecoder(MAPS, {}), "ADDED", body)
        assert (entry.ref.kind, entry.ref.version) == ("ConfigMap", "v1")
        assert orjson.loads(entry.body).keys() == {"apiVersion", "kind", "metadata"}


def test_an_object_that_cannot_be_used_is_counted_and_still_stands() -> None:
    reading = ObjectDecoder(PODS, {})
    nameless = {"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": "2026-11-21T07:59:00Z"}}
    assert reading.event(orjson.dumps({"type": "ADDED", "object": nameless}), AT, 0) is None
    assert (reading.unusable, reading.why) == (1, "the object has no name")
    odd = b'{"metadata":{"name":"a","namespace":"n","uid":"u1","finalizers":"odd"}}'
    decoded(reading, "ADDED", pod(7))
    assert reading.listed(odd, AT) is None
    assert not list(reading.vanished({key_in(odd)}, AT, AT))
    assert key_in(b"[]") == ""


def test_a_line_that_is_no_event_is_malformed() -> None:
    for line in (b"{", b'{"type":"ADDED"}', b'{"type":"ADDED","object":{"kin', b"[]", b'{"type":"X","object":{}}'):
        with pytest.raises(Malformed):
            ObjectDecoder(PODS, {}).event(line, AT, 0)


def test_bookmarks_and_errors() -> None:
    reading = ObjectDecoder(PODS, {})
    mark = {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "12"}}}
    assert reading.event(orjson.dumps(mark), AT, 0) == Bookmark(12)
    error = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}
    assert isinstance(reading.event(orjson.dumps(error), AT, 0), Gone)


def test_pages() -> None:
    page = page_of(b'{"metadata":{"resourceVersion":"12","continue":"c"},"items":[{},{}]}')
    assert (page.revision, page.continue_token, [*page.items]) == (12, "c", [b"{}", b"{}"])
    assert not list(page_of(b'{"metadata":{"resourceVersion":"12"},"items":null}').items)
    with pytest.raises(Malformed):
        [*page_of(b'{"metadata":{"resourceVersion":"12"},"items":7}').items]
    for body in (b"", b"<html>", b'{"metadata":{"resourceVersion":""}}', b"[]"):
        with pytest.raises(Malformed):
            page_of(body)


def test_what_a_server_says_of_an_error_is_listed_without_credentials() -> None:
    body = orjson.dumps({"code": 403, "message": "no: token=abcdefghijk"})
    error = refused(body, 403)
    assert isinstance(error, Forbidden)
    assert "abcdefghijk" not in str(error)
    assert refused(b"<html>", 502).status == 502
    assert type(refused(b"", 500)) is RequestRefused
    assert refused(b"", 429, "7").retry_after == 7


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
REVISIONS = st.none() | st.text(max_size=5) | st.sampled_from(["0", "007", "abc", "-1", "9" * 39, "9" * 40, "٣", "12"])
FIELDS = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields", "ownerReferences"]


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """Return a Pod of which some parts are missing or have other types."""
    body = pod(draw(st.integers(1, 9)), "kubelet 00", uid=draw(st.sampled_from(["u1", "u2"])))
    for name in draw(st.lists(st.sampled_from(FIELDS), max_size=3)):
        body["metadata"][name] = draw(REVISIONS if name == "resourceVersion" else JSON)
        if draw(st.booleans()):
            del body["metadata"][name]
    for name in draw(st.lists(st.sampled_from(["apiVersion", "kind", "metadata", "spec", "status"]), max_size=2)):
        body[name] = draw(JSON)
    return body


HOW = st.sampled_from(["list", "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "?"])


@examples(10)
@given(st.lists(st.tuples(HOW, damaged()), max_size=8))
def test_whatever_an_object_is_it_is_used_or_counted_or_malformed(seen: list[tuple[str, dict[str, Any]]]) -> None:
    reading, reached = ObjectDecoder(PODS, {}), 0
    found: object
    for how, body in seen:
        raw, before = orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS), reading.unusable
        try:
            if how == "list":
                found = reading.listed(raw, AT)
                assert found is not None or reading.unusable == before + 1
            else:
                line = b'{"type":"%b","object":%b}' % (how.encode(), raw)
                found = reading.event(line, AT, reached)
        except Malformed:
            continue
        if isinstance(found, Entry):
            assert found.resource_version
            assert how != "list" or reading.live_objects[key_of(found)].revision >= found.resource_version
            reached = max(reached, found.resource_version) if how != "list" else reached
        key_in(raw)


def test_a_credential_as_a_name_is_masked_in_everything_that_a_watch_says() -> None:
    name = FORMS["GitHub"]
    body = pod(7, "kubelet 00")
    body["metadata"]["name"] = name
    decoder = ObjectDecoder(PODS, {})
    mark = Mark("", "v1", "Pod", MarkType.BOOKMARK, AT, 8)
    event = decoder.event(orjson.dumps({"type": "ADDED", "object": body}), AT, 0)
    assert isinstance(event, Entry)
    other = decoded(ObjectDecoder(PODS, {}), "ADDED", pod(9, "kubelet 00"))
    listed = decoder.listed(orjson.dumps(body), AT)
    assert listed is not None
    same, also, *masked = admit([other, mark, event, listed, *decoder.vanished(set(), AT, AT)], Limits())
    assert isinstance(same, Entry) and same.ref == other.ref and also == mark
    assert len(masked) == 3
    for each in masked:
        assert isinstance(each, Entry)
        assert name.encode() not in line_of(each)
