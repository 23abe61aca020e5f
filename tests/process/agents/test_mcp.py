"""These tests ask Causeline as agents do: with the client of the package mcp, over HTTP and over standard input."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import orjson
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from dashboard.agents.answers import ABOUT, BYTES, answer
from dashboard.agents.tools import Tools
from dashboard.cli.__main__ import main
from tests import ROOT
from tests.inputs.recordings import SAMPLE
from tests.servers.running import TOKEN, WITH_TOKEN, Running, running

SMALL = min((ROOT / "tests/rules/service-gap").glob("fires-*.jsonl"))
CAUSELINE = str(Path(sys.executable).parent / "causeline")
INFO = {"name": "a test", "version": "1"}
PARAMETERS = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": INFO}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": PARAMETERS}
PREPARED = """
from django.core.management import call_command
for name, file in (("one", {one!r}), ("two", {two!r})):
    call_command("causeline", "import", file, "--name", name)
call_command("causeline", "tokens", "create", "agent", "--scope", "read", "--source", "one")
call_command("causeline", "tokens", "create", "agent", "--scope", "alerts")
"""


class Site(NamedTuple):
    """This is a running Causeline with two recordings, and a token for only the first one."""

    running: Running
    sources: list[int]
    limited: str
    alerts: str  # a token that may only send alerts


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(tmp_path_factory.mktemp("site"), "web") as started:
        code = PREPARED.format(one=str(SAMPLE), two=str(SMALL))
        command = [sys.executable, "manage.py", "shell", "--verbosity", "0", "--command", code]
        made = subprocess.run(command, cwd=ROOT, env=started.environment, capture_output=True, text=True, check=True)
        limited, alerts = re.findall(r"^causeline_\S+$", made.stdout, re.MULTILINE)
        found = httpx2.get(f"{started.address}/api/sources", headers=WITH_TOKEN).json()["sources"]
        sources = {each["name"]: each["id"] for each in found}
        yield Site(started, [sources["one"], sources["two"]], limited, alerts)


@asynccontextmanager
async def over_http(site: Site, token: str = TOKEN, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{site.running.address}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(*arguments: str, **environment: str) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(command=CAUSELINE, args=["mcp", *arguments], env=environment)
    async with Client(stdio_client(parameters)) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def asked(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the structured answer of a tool, which its text repeats."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    found = result.structured_content
    assert isinstance(found, dict)
    assert json.loads(text_of(result)) == found
    assert found["about"] == ABOUT
    assert len(orjson.dumps(found)) <= BYTES
    return found


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


def page(site: Site, address: str) -> int:
    """Return the status of a page of which an answer has the address."""
    assert address.startswith(f"{site.running.address}/")
    with httpx2.Client(follow_redirects=False) as visitor:
        visitor.get(site.running.door)
        return visitor.get(address).status_code


async def question_all(client: Client, source: int) -> dict[str, dict[str, Any]]:
    """Ask each tool once, and return the answers."""
    answers = {"list_sources": await asked(client, "list_sources")}
    listed = await asked(client, "list_incidents", source=source, order="gravest")
    first = listed["data"]["incidents"][0]
    pods = await asked(client, "list_events", source=source, namespace="vol-restart", kind="Pod")
    event = pods["data"]["events"][0]
    answers |= {
        "list_incidents": listed,
        "get_incident": await asked(client, "get_incident", source=source, incident=first["id"]),
        "get_finding": await asked(client, "get_finding", source=source, finding=first["worst"]),
        "list_events": await asked(client, "list_events", source=source, namespace="vol-restart", limit=500),
        "get_object": await asked(client, "get_object", source=source, track=event["track"]),
        "get_object_history": await asked(client, "get_object_history", source=source, track=event["track"]),
        "list_changes_before": await asked(client, "list_changes_before", source=source, incident=first["id"]),
        "get_coverage": await asked(client, "get_coverage", source=source),
        "search": await asked(client, "search", source=source, words="ring service"),
        "get_rule": await asked(client, "get_rule", rule=first["rule"]),
    }
    return answers


def test_every_tool_reads_and_answers_what_the_api_answers(site: Site) -> None:
    source = site.sources[0]

    async def ask() -> None:
        async with over_http(site) as client:
            tools = (await client.list_tools()).tools
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
            assert all(not tool.annotations.destructive_hint for tool in tools if tool.annotations)
            answers = await question_all(client, source)
            labels = {"namespace": "vol-restart", "pod": "ring-weak-0", "source": str(source), "severity": "page"}
            at = "2026-11-21T07:52:01Z"
            answers["resolve_alert"] = await asked(client, "resolve_alert", labels=labels, at=at)
            assert answers["resolve_alert"]["data"]["match"]["relation"] == "alive"
            assert {tool.name for tool in tools} == set(answers)
            for name, found in answers.items():
                assert page(site, found["link"]) == 200, name
            api = httpx2.get(
                f"{site.running.address}/api/sources/{source}/incidents?order=gravest&limit=20", headers=WITH_TOKEN
            ).json()
            listed = answers["list_incidents"]["data"]
            assert [each["id"] for each in listed["incidents"]] == [each["id"] for each in api["incidents"]]
            for total in ("total", "symptoms", "findings"):
                assert listed[total] == api[total]
            several = next(each for each in listed["incidents"] if each["symptoms_total"] > 1)
            one = await asked(client, "get_incident", source=source, incident=several["symptoms"][-1]["id"])
            assert one["data"]["incident"]["id"] == several["id"] and one["data"]["occurrences"]
            assert len(one["data"]["incident"]["symptoms"]) == several["symptoms_total"]
            revisions = [int(each.get("resource_version", 0)) for each in answers["list_events"]["data"]["events"]]
            assert [each for each in revisions if each] == sorted(each for each in revisions if each)
            proof = answers["get_incident"]["data"]["occurrences"][0]["proof"]
            assert proof and all(each["time"] and each["role"] for each in proof)

    asyncio.run(ask())


def test_an_answer_is_bounded_and_says_how_to_go_on_or_why_there_is_none(site: Site) -> None:
    async def ask() -> None:
        async with over_http(site) as client:
            whole = await asked(client, "list_events", source=site.sources[0], every=True, limit=500)
            names, cursor = [], ""
            while cursor is not None:
                part = await asked(client, "list_events", source=site.sources[0], every=True, limit=500, cursor=cursor)
                events = part["data"]["events"]
                names += [(each["track"], each.get("resource_version"), each["time"]) for each in events]
                cursor = part["next"]
                assert (cursor is None) == ("Pass `next`" not in part["more"])
            assert len(names) == len(set(names)) == whole["data"]["total"] > len(whole["data"]["events"])
            assert "No such recording" in await refused(client, "list_events", source=99)
            assert "is not a valid time" in await refused(client, "list_events", source=1, start="yesterday")
            assert "The rules are" in await refused(client, "get_rule", rule="none")
            assert "source" in await refused(client, "list_events", source="x")
            assert "namespce" in await refused(client, "list_incidents", namespce="x")
            assert "None of these labels" in await refused(client, "resolve_alert", labels={"severity": "page"})

    asyncio.run(ask())


def test_a_limited_token_sees_only_its_source(site: Site) -> None:
    own, other = site.sources

    async def ask() -> None:
        async with over_http(site, site.limited) as client:
            sources = (await asked(client, "list_sources"))["data"]["sources"]
            assert [each["id"] for each in sources] == [own]
            await asked(client, "list_incidents", source=own)
            for tool in ("list_incidents", "list_events", "get_coverage"):
                assert "reads only the recording one" in await refused(client, tool, source=other)
            assert "reads only the recording one" in await refused(client, "list_incidents")

    asyncio.run(ask())


def post(site: Site, method: str = "POST", body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection("127.0.0.1", site.running.port, timeout=30)
    sent = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **WITH_TOKEN,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    given = {name: text for name, text in sent.items() if text}
    connection.request(method, "/mcp", body or orjson.dumps(INITIALIZE), given)
    answered = connection.getresponse()
    content = answered.read()
    connection.close()
    return answered.status, {name.lower(): text for name, text in answered.getheaders()}, content


def test_requests_from_elsewhere_without_a_token_or_too_long_are_refused(site: Site) -> None:
    for headers, status in (
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer causeline_wrong"}, 401),
        ({"Authorization": f"Bearer {site.alerts}"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ):
        assert post(site, "POST", b"", **headers)[0] == status, headers
    assert post(site, body=b" " * 300_000)[0] == 413


def test_there_are_no_sessions_and_no_streams(site: Site) -> None:
    status, headers, _ = post(site)
    assert status == 200 and "mcp-session-id" not in headers
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_sources", "arguments": {}}}
    status, _, body = post(site, body=orjson.dumps(call), MCP_Protocol_Version="2025-06-18")  # without a beginning
    assert status == 200 and len(json.loads(body)["result"]["structuredContent"]["data"]["sources"]) == 2
    for method in ("GET", "DELETE", "PUT"):
        status, headers, _ = post(site, method)
        assert (status, headers["allow"]) == (405, "POST")


def shared(answers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what answers from a recording and from a server have in common: all but numbers and addresses."""
    data = {tool: each["data"] for tool, each in answers.items()}
    fields = ("time", "earliest", "latest", "resource_version", "change", "text", "name", "writer")
    return {
        "incidents": [
            [each["id"], each["root"], [of_it["id"] for of_it in each["symptoms"]]]
            for each in data["list_incidents"]["incidents"]
        ],
        "events": [[each.get(field) for field in fields] for each in data["list_events"]["events"]],
        "history": [(each.get("resource_version"), each["lines"]) for each in data["get_object_history"]["changes"]],
        "changes": sorted((each["start"], each["end"]) for each in data["list_changes_before"]["changes"]),
        "coverage": data["get_coverage"]["coverage"],
        "proof": [each["role"] for each in data["get_finding"]["proof"]],
    }


def test_recordings_answer_without_a_server_what_a_server_answers(site: Site) -> None:
    async def ask() -> None:
        labels = {"alertname": "KubePodNotReady", "namespace": "vol-restart", "pod": "ring-weak-0"}
        async with over_stdio(str(SAMPLE)) as alone, over_http(site) as served:
            mine, theirs = await question_all(alone, 0), await question_all(served, site.sources[0])
            found = await asked(alone, "resolve_alert", labels=labels, at="2026-11-21T07:52:01Z")
            late = await asked(alone, "resolve_alert", labels=labels)
            unknown = await asked(alone, "resolve_alert", labels={"pod": "nobody"})
        assert shared(mine) == shared(theirs)
        assert all(shared(mine).values())
        assert not any(found["link"] for found in mine.values())
        match = found["data"]["match"]  # labels lead to the incarnation of their time
        assert (match["object"]["name"], match["relation"], found["data"]["reason"]) == ("ring-weak-0", "alive", "")
        assert match["start"] <= "2026-11-21T07:52:01Z" <= match["end"]
        assert late["data"]["match"]["relation"] == "ended"
        assert (unknown["data"]["match"], unknown["data"]["choices"]) == (None, [])
        assert "No object" in unknown["data"]["reason"]

    asyncio.run(ask())


def test_what_cannot_be_served_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, status, message in (
        (("-",), 2, "name files"),
        (("/none",), 2, "/none"),
        (("--data-dir", "/none"), 1, "No Causeline is known"),
        ((), 1, "CAUSELINE_URL is"),
    ):
        if not arguments:
            monkeypatch.setenv("CAUSELINE_URL", "ftp://x")
        assert main(["mcp", *arguments]) == status
        said = capsys.readouterr()
        assert said.out == "" and message in said.err


def test_hostile_text_stays_data_and_small() -> None:
    name = "web\u202eevil\u200b\U000e0041\x1b[2J"
    found = answer({"name": name, "at": 0, "url": "/x/"}, address="http://a", path="/y/")
    assert found["data"] == {
        "name": "web\ufffdevil\ufffd\ufffd\ufffd[2J",
        "at": "1970-01-01T00:00:00.000000Z",
        "url": "http://a/x/",
    }
    large = answer({"rows": [{"text": "x" * 5000}] * 5000}, address="", path="/y/")
    assert len(orjson.dumps(large)) <= BYTES
    assert "lists are cut" in large["more"] and "texts are cut" in large["more"]
    assert large["link"] == ""


def test_the_package_is_imported_only_when_an_agent_asks() -> None:
    code = "import sys, dashboard.cli.__main__, dashboard.asgi; sys.exit('mcp' in sys.modules)"
    environment = {**os.environ, "CAUSELINE_LOGIN": "on"}
    assert subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT).returncode == 0


PAGE = (ROOT / "docs/how-to/ask-with-an-agent.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(json|toml|python) title=(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "https://causeline.example.org"


def written(title: str, site: Site) -> Iterator[tuple[str, str]]:
    """Yield the language and the text of each block of the page with this title, with the address of a running
    Causeline."""
    for language, of, text in BLOCK.findall(PAGE):
        if of == title:
            yield language, text.replace(ADDRESS, site.running.address)


def servers(language: str, text: str) -> dict[str, Any]:
    """Return what a configuration says of the server."""
    document = tomllib.loads(text) if language == "toml" else json.loads(text)
    (server,) = next(document[name] for name in ("mcpServers", "servers", "mcp_servers") if name in document).values()
    return dict(server)


def test_the_configurations_of_the_page_work(site: Site, tmp_path: Path) -> None:
    token = tmp_path / "agent.token"
    token.write_text(f"{site.limited}\n")

    async def ask() -> None:
        ((_, files),) = written("files", site)
        server = servers("json", files.replace("/home/me/audit.jsonl.zst", str(SMALL)))
        assert server["command"] == "causeline"
        async with over_stdio(*server["args"][1:]) as client:
            await asked(client, "list_incidents")
        ((_, command),) = written("command", site)
        server = servers("json", command.replace("/home/me/agent.token", str(token)))
        async with over_stdio(*server["args"][1:], **server["env"]) as client:  # with a token from a file
            found = await asked(client, "list_sources")
            assert [each["id"] for each in found["data"]["sources"]] == [site.sources[0]]
            assert page(site, found["data"]["sources"][0]["url"]) == 200
            assert "reads only" in await refused(client, "get_coverage", source=site.sources[1])
        configurations = list(written("http", site))
        assert len(configurations) == 3
        for language, text in configurations:
            server = servers(language, text)
            header = server.get("headers", {}).get("Authorization", "Bearer ${TOKEN}")
            assert header.startswith("Bearer ${") and server["url"] == f"{site.running.address}/mcp"
            assert server.get("bearer_token_env_var", "CAUSELINE_ACCESS_TOKEN") == "CAUSELINE_ACCESS_TOKEN"

    asyncio.run(ask())
    ((_, program),) = written("program", site)
    environment = {**os.environ, "CAUSELINE_ACCESS_TOKEN": TOKEN}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.strip().isdecimal(), done.stderr


def test_the_page_lists_every_tool() -> None:
    tools = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    public = {name for name in vars(Tools) if not name.startswith("_")}
    assert tools == public
