"""These tests check the tables of recordings: what they hold, how they are written, and what a query can reach."""

import io
import json
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as parquet
import pytest

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits, NotARecording
from dashboard.cli.__main__ import main
from dashboard.cli.sql_output import show
from dashboard.tables import files, query
from dashboard.tables.files import Unwritable, into, write
from dashboard.tables.query import Failed, Limit, asked
from dashboard.tables.schema import NAME, SQL, TABLES, page
from tests import ROOT
from tests.inputs.recordings import SAMPLE
from tests.unit.redaction.test_planted import SECRET, events

PAGE = (ROOT / "docs/how-to/query-with-sql.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^```sql\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENOUGH = Limit(60, 512)


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    files.libraries()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def analysis(folder: Path) -> Analysis:
    """Write the tables of the sample, and return its analysis."""
    return write([(SAMPLE, SAMPLE.name)], Limits(), folder)


@pytest.fixture
def tables(analysis: Analysis, folder: Path) -> Path:
    return folder


def answer(folder: Path, text: str, limit: Limit = ENOUGH) -> list[tuple[Any, ...]]:
    with asked(folder, text, limit) as result:
        return list(result.rows)


def test_the_page_of_the_tables_is_written_from_their_schema() -> None:
    assert (ROOT / "docs/tables.md").read_text(encoding="utf-8") == page(), "make docs writes it"


def test_each_file_says_what_it_holds(tables: Path) -> None:
    assert sorted(each.name for each in tables.iterdir()) == sorted(f"{name}.parquet" for name in TABLES)
    for name, (_, columns) in TABLES.items():
        schema = parquet.read_schema(tables / f"{name}.parquet")
        assert schema.names == [each.name for each in columns]
        about = {key.decode(): value.decode() for key, value in schema.metadata.items() if key.startswith(b"causeline")}
        assert about["causeline.schema"] == NAME and about["causeline.table"] == name
        assert about["causeline.recording"] == SAMPLE.name and about["causeline.timezone"] == "UTC"
        meanings = [field.metadata[b"meaning"].decode() for field in schema]
        assert meanings == [each.meaning for each in columns]
        described = answer(tables, f"describe {name}")
        assert [(row[0], row[1]) for row in described] == [(each.name, SQL[each.type]) for each in columns]


def test_the_tables_hold_what_analyze_finds(analysis: Analysis, tables: Path) -> None:
    document = analysis.document()
    counts = {name: answer(tables, f"select count(*) from {name}")[0][0] for name in TABLES}
    assert counts["findings"] == len(document["findings"]) and counts["incidents"] == len(document["incidents"])
    symptoms = {(each["id"], one["id"]) for each in document["incidents"] for one in each["symptoms"]}
    assert set(answer(tables, "select incident, symptom from symptoms")) == symptoms
    assert counts["tracks"] == len(list(analysis.world.tracks()))
    assert counts["moments"] == sum(len(track.moments) for track in analysis.world.tracks())
    assert counts["entries"] >= counts["moments"]
    rows = answer(tables, "select finding, incidents, severity, delay_least, delay_most from findings order by finding")
    found = sorted(analysis.findings, key=lambda each: each.id)
    of_incidents = {(row["id"], each) for row in document["incidents"] for each in row["findings"]}
    assert {(each, row[0]) for row in rows for each in row[1]} == of_incidents
    for (identity, _, severity, least, most), each in zip(rows, found, strict=True):
        assert (identity, severity) == (each.id, each.severity)
        bounds = each.bounds
        assert bounds is None or (least.total_seconds(), most.total_seconds()) == bounds
        assert (least is None) == (each.interval is None)


NEVER = [
    "moments anti join tracks using (track)",
    "(from tracks where owner > 0) as a anti join tracks as b on a.owner = b.track",
    "tracks as one anti join tracks as other on one.root = other.track",
    "(select unnest(incidents) as incident from findings) as named anti join incidents using (incident)",
    "incidents anti join (select unnest(incidents) as incident from findings) as named using (incident)",
    "findings anti join symptoms using (symptom)",
    "symptoms anti join incidents using (incident)",
    "findings anti join tracks using (track) where track is not null",
    "entries anti join tracks using (object)",
    "moments where time < earliest or time > latest",
    "(select time, lag(time) over (partition by space order by revision) as before from moments"
    " where revision is not null) where time < before",
]


@pytest.mark.parametrize("rows", NEVER)
def test_tables_refer_to_each_other_and_revisions_order_times_in_their_bounds(tables: Path, rows: str) -> None:
    assert answer(tables, f"select count(*) from {rows}") == [(0,)]


@pytest.mark.parametrize(("text", "expected"), EXAMPLE.findall(PAGE), ids=lambda each: each.split("\n")[0][:40])
def test_the_queries_of_the_page_have_the_answers_of_the_page(tables: Path, text: str, expected: str) -> None:
    printed = io.StringIO()
    with asked(tables, text, ENOUGH) as result, redirect_stdout(printed):
        show(result, "table", 1000)
    assert printed.getvalue() == expected
    assert len(EXAMPLE.findall(PAGE)) == 11


def test_no_planted_secret_reaches_a_table(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text("\n".join(events()))
    out = tmp_path / "tables"
    out.mkdir()
    write([(log, log.name)], Limits(), out)
    for name in TABLES:
        rows = parquet.read_table(out / f"{name}.parquet").to_pylist()
        assert SECRET not in json.dumps(rows, default=str), name
    assert answer(out, "select count(*) > 20 from entries where body is not null") == [(True,)]


FORBIDDEN = """
    select * from read_csv('/etc/passwd')
    select * from read_text('/etc/passwd')
    select * from '/etc/passwd'
    select * from glob('/etc/*')
    select * from read_csv('https://127.0.0.1/x')
    select * from sys
    select * from folder
    copy tracks to '/tmp/never.csv'
    export database '/tmp/never'
    attach '/tmp/never.db'
    install httpfs
    load httpfs
    set enable_external_access = true
    set memory_limit = '90GB'
    set python_enable_replacements = true
    create secret s (type s3)
"""


@pytest.mark.parametrize("text", [line.strip() for line in FORBIDDEN.strip().splitlines()])
def test_a_query_reaches_nothing_but_the_tables(tables: Path, text: str) -> None:
    with pytest.raises(Failed):
        answer(tables, text)
    assert not Path("/tmp/never.csv").exists() and not Path("/tmp/never.db").exists()


def test_a_query_is_stopped_when_it_takes_too_much_time_or_memory(tables: Path) -> None:
    endless = "select count(*) from range(1000000000000) as one(n) where n % 7 = 3"
    with pytest.raises(Failed, match=r"took longer than 0\.5 s"):
        answer(tables, endless, Limit(0.5, 512))
    with pytest.raises(Failed, match="more than 32 MB"):
        answer(tables, "select list(n) from range(100000000) as one(n)", Limit(60, 32))


def test_rows_are_written_in_groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tables: Path) -> None:
    monkeypatch.setattr(files, "_ROWS", 100)
    write([(SAMPLE, SAMPLE.name)], Limits(), tmp_path)
    written = parquet.ParquetFile(tmp_path / "moments.parquet").metadata
    assert written.num_row_groups == -(-written.num_rows // 100)
    for name in TABLES:
        one, other = (parquet.read_table(each / f"{name}.parquet") for each in (tmp_path, tables))
        assert one.equals(other), name


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def broken(folder: Path) -> None:
        (folder / "entries.parquet").touch()
        raise NotARecording("it is none")

    with pytest.raises(NotARecording):
        into(tmp_path / "tables", broken)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    with pytest.raises(Unwritable, match="not an empty folder"):
        into(tmp_path / "full", broken)


def test_tables_of_another_version_are_refused(tables: Path, tmp_path: Path) -> None:
    for name in TABLES:
        table = parquet.read_table(tables / f"{name}.parquet")
        older = table.replace_schema_metadata({"causeline.schema": "causeline.tables/v0"})
        parquet.write_table(older, tmp_path / f"{name}.parquet")
    with pytest.raises(Failed, match="v0"):
        query.is_exported(tmp_path)
    assert query.is_exported(tables) and not query.is_exported(ROOT)


class Done(NamedTuple):
    """This is what a command printed, and its exit status."""

    status: int
    out: str
    error: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    def run(*words: str, stdin: str = "") -> Done:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        status = main(words)
        return Done(status, *capsys.readouterr())

    return run


def test_the_command_asks_a_recording_as_it_asks_its_tables(run: Callable[..., Done], tables: Path) -> None:
    text = "select title, writers, last_time, last_time - first_time as lasted from incidents order by incident"
    alone, exported = (run("sql", str(name), text, "--output", "json") for name in (SAMPLE, tables))
    assert (alone.status, alone.error) == (0, "")
    assert alone.out == exported.out
    first = json.loads(alone.out)[0]
    assert first["last_time"].endswith("Z") and isinstance(first["writers"], list) and first["lasted"] >= 0
    by_csv = run("sql", str(tables), "-", "--output", "csv", stdin="select 1 as a, null as b, 'x,y' as c, true as d")
    assert by_csv.out == 'a,b,c,d\n1,,"x,y",true\n'
    odd = "select '=1+1' as \"=x\", ' ＠a' as b, 'a; =b;﹦c' as c, chr(9) || '-c' as d, chr(155) || '31m' as e"
    hostile = run("sql", str(tables), "-", "--output", "csv", stdin=f"{odd}, -1 as f, '-2.5' as g")
    assert hostile.out == "'=x,b,c,d,e,f,g\n'=1+1,' ＠a,a;' =b;'﹦c,'\ufffd-c,\ufffd31m,-1,-2.5\n"
    by_json = run("sql", str(tables), "-", "--output", "json", stdin="select chr(155) || chr(8238) as a")
    assert by_json.out == '[\n{"a":"\\u009b\\u202e"}\n]\n'
    cut = run("sql", str(tables), "select name from tracks", "--limit", "2").out
    assert cut.endswith("(2 rows, and more; --limit shows more than 2)\n")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("sql", "select 1"), 2, "Name a recording"),
        (("sql", "/none.log", "select 1"), 2, "/none.log"),
        (("sql", "{tables}", "selec"), 1, "syntax error"),
        (("sql", "{tables}", "select nothing from tracks"), 1, "nothing"),
        (("export", "a", "b"), 2, "Name one recording"),
        (("export", "{sample}", "--format", "parquet"), 2, "--output"),
        (("export", "{sample}", "--format", "parquet", "-o", "{tables}"), 2, "not an empty folder"),
        (("export", "{sample}", "/none.log", "--format", "parquet", "-o", "{new}"), 2, "no file /none.log"),
        (("export", "README.md", "--format", "parquet", "-o", "{new}"), 2, "README.md"),
    ],
)
def test_what_cannot_be_done_is_said(
    run: Callable[..., Done], tables: Path, tmp_path: Path, words: tuple[str, ...], status: int, message: str
) -> None:
    named = {"tables": tables, "sample": SAMPLE, "new": tmp_path / "new"}
    done = run(*(word.format(**named) for word in words))
    assert done.status == status, done.error
    assert message in done.error and not done.out
    assert not list(tmp_path.iterdir())


def test_the_analysis_is_the_same_with_and_without_tables(analysis: Analysis) -> None:
    assert analyse([(SAMPLE, SAMPLE.name)], Limits()).document() == analysis.document()
