"""These tests write and ask tables in processes of their own, also without the libraries that this takes."""

import re
import subprocess
import sys
from pathlib import Path

from dashboard.tables.schema import NAME
from tests import ROOT
from tests.clients.command import causeline
from tests.inputs.recordings import SAMPLE
from tests.unit.tables.test_tables import PAGE, answer
from tests.unit.tables.test_tables import analysis as analysis  # a fixture
from tests.unit.tables.test_tables import folder as folder  # a fixture
from tests.unit.tables.test_tables import tables as tables  # a fixture


def python(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)


def test_the_program_of_the_page_reads_the_files(tables: Path) -> None:
    (program,) = re.findall(r"^```python title=program\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    done = python(program.replace("tables/", f"{tables}/"))
    assert done.stdout == f"{NAME} {answer(tables, 'select count(*) from incidents')[0][0]}\n", done.stderr


def test_the_command_writes_tables_and_asks_them(tmp_path: Path) -> None:
    assert causeline("export", SAMPLE, "--format", "parquet", "-o", tmp_path / "tables")[0] == 0
    status, output, errors = causeline("sql", tmp_path / "tables", "from incidents")
    assert status == 0 and "Service ring was away" in output, errors


def test_no_other_command_needs_the_libraries_and_a_sentence_says_how_to_install_them() -> None:
    done = python(
        "import sys, dashboard.cli.__main__ as cli; assert not {'pyarrow', 'duckdb'} & set(sys.modules);"
        "sys.modules['pyarrow'] = None; cli.main(['sql', 'a', 'b'])"
    )
    assert "pip install 'causeline[tables]'" in done.stderr and "Traceback" not in done.stderr
