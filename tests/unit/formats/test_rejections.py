"""These tests check what is refused as no recording: truly why, and without repeating anything of it."""

import re

import pytest

from tests.inputs.objects import refusal

KUBECONFIG = b"apiVersion: v1\nkind: Config\nclusters: []\nusers:\n- name: admin\n  user: {token: very-secret}\n"
SORTED_KUBECONFIG = b"apiVersion: v1\nclusters: []\nkind: Config\nmetadata: {}\nusers:\n- token: very-secret\n"
JSON_KUBECONFIG = b'{"apiVersion": "v1", "kind": "Config", "metadata": {}, "users": [{"token": "very-secret"}]}'
ETCD = bytes(8) + b"\x04" + bytes(7) + b"\xed\xda\x0c\xed\x02\0\0\0" + bytes(4096)
NO_TIME, FOR_HOW_LONG = "these lines have no time.*--timestamps", "its lines say for how long"
NO_OBJECTS = "it is JSON, but neither audit events nor Kubernetes objects"
REFUSED: list[tuple[bytes | str, str]] = [
    (b"\x89PNG\r\n\x1a\n" + bytes(100), "it is a PNG picture"),
    (b"\xff\xd8\xff\xe0", "it is a JPEG picture"),
    (b"%PDF-1.7\n", "it is a PDF document"),
    ("\n <!DOCTYPE html><html>", "it is a web page or XML"),
    ('<?xml version="1.0"?>', "it is a web page or XML"),
    ("<testsuite/>", "it is a web page or XML"),
    (ETCD, "it is a snapshot of etcd.*restore it with etcdutl snapshot restore"),
    (KUBECONFIG, "it is a kubeconfig, which holds credentials; it was not kept"),
    (SORTED_KUBECONFIG, "it is a kubeconfig"),
    (JSON_KUBECONFIG, "it is a kubeconfig"),
    ('{"auditID":1}'.encode("utf-16"), "it is UTF-16 text"),
    (b"\x01\x02\x00\x03", "it is not text"),
    ("\n\n\n", "it begins with nothing but blank lines"),
    ("# comment\napiVersion: v1\nkind: Pod\n", "it is YAML"),
    ("apiVersion: v1\nkind: ConfigMap\n", "it is YAML"),
    ("foo: bar\nbaz:\n  - 1", "it is YAML, but no Kubernetes object"),
    ("kind: Pod\nmetadata: {}\n", ""),
    ("#!/bin/sh\nmetadata: x\n", ""),
    ('{"name":"package","version":"1.0.0"}', NO_OBJECTS),
    ('{"apiVersion": "1.0", "metadata": {}}', ""),
    ('{"name": "package", "items": []}', ""),
    ('{"events": []}', ""),
    ("[1, 2]", ""),
    ('{"data": {"result": []}}', ""),
    ('{"message": "hello"}\n', ""),
    ('{"a": 1,\n "b": [1,}', "it is not JSON: it cannot be read from line 2, column 10 on"),
    ("{" * 10_000, ""),
    ("NAME    READY   STATUS    RESTARTS   AGE\nweb-0   0/1     Pending   0          0s", "kubectl get, .*-o json"),
    ("NAMESPACE   NAME    STATUS   AGE   NOMINATED NODE\nshop        web-0   Ready    3d", "a table of kubectl get"),
    ("web-0   1/1     Running   0          3d", "a table of kubectl get"),
    ("NAME    CPU(cores)   MEMORY(bytes)\nweb-0   1m           2Mi", "a table of kubectl top"),
    ("Name:         web-0\nNamespace:    shop\nEvents:       <none>", "what kubectl describe prints.*-o json"),
    ("Error from server (Forbidden): pods is forbidden", "a message of kubectl"),
    ("# HELP up x\n# TYPE up gauge\nup 1", "it is metrics for Prometheus"),
    ("a,b,c\n1,2,3\n4,5,6", "a table \\(CSV\\)"),
    ("goroutine 1 [running]:\nmain.main()", "the stacks of a Go program"),
    ("-----BEGIN PRIVATE KEY-----\nabc", "a key or a certificate; it was not kept"),
    ("JAVA PROFILE 1.0.2\0", "a heap dump"),
    ('[INFO] 10.0.0.1:4 - 1 "A IN web. udp" NOERROR\n' * 4, NO_TIME),
    ("INFO:root:oh\nERROR:root:oh", NO_TIME),
    ('{"level":"info","msg":"oh"}\n' * 3, NO_TIME),
    ('level=info msg="oh" subsys=daemon\n' * 3, NO_TIME),
    ("Dear reader,\nthis is no log: very-secret.\n", NO_TIME),
    ("[    0.000000] Linux version 6\n[    0.100000] BIOS", f"{FOR_HOW_LONG} a machine"),
    ("[  12.345678] node1 kubelet[1]: oh", f"{FOR_HOW_LONG} a machine.*short-iso"),
    ("INFO[0000] starting\nINFO[0001] oh", FOR_HOW_LONG),
    ("2026-11-22 12:00:00 oh\na\nb\nc\nd", "1 of the first 5 lines begin with a time"),
    ("03/01/2026 10:00:00 INFO oh\n" * 3, "nothing says which number is the month.*--timestamps"),
    ("2026-11-22T12:00:00Z\n" * 3, "these lines have times, but"),
    ("2026-11-22T12:00:00Z", ""),
    ("2026-11-22 12:00:00,1,2,3\n" * 9, ""),
    ("2026-11-22T12:00:00Z one line with a time\nand another\n" * 9, ""),
    ('{"name":"package","version":"1.0.0","time":"2026-11-22T12:00:00Z"}', ""),
    ('{"level":"info","ts":1e99,"msg":"x"}', ""),
    ("I9999 99:99:99.999999 1 a.go:1] x", ""),
    ("2026-02-30T12:00:00Z INFO x", ""),
    ("9999-11-22T12:00:00Z INFO x", ""),
    ("a/b " * 10_000, ""),
]


@pytest.mark.parametrize(("content", "words"), REFUSED, ids=lambda each: ascii(each)[:40])
def test_what_is_no_recording_is_refused_and_truly_why(content: bytes | str, words: str) -> None:
    message = refusal(content.encode() if isinstance(content, str) else content, "chosen.bin")
    assert message.startswith("chosen.bin is not a recording that Causeline knows: ")
    assert re.search(words, message), message
    assert "Causeline reads Kubernetes audit logs" in message
    assert not words or "not JSON" in words or "not JSON" not in message
    assert "very-secret" not in message
