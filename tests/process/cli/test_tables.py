"""These tests write and ask tables in processes of their own, also without the libraries that this takes."""

import re
import subprocess
import sys
from pathlib import Path

from dashboard.tables.schema import NAME
from tests import ROOT
from tests.recordings import SAMPLE
from tests.unit.tables.test_tables import PAGE, answer
from tests.unit.tables.test_tables import analysis as analysis  # a fixture
from tests.unit.tables.test_tables import folder as folder  # a fixture
from tests.unit.tables.test_tables import tables as tables  # a fixture

CAUSELINE = str(Path(sys.executable).parent / "causeline")


def test_the_program_of_the_page_reads_the_files(tables: Path) -> None:
    (program,) = re.findall(r"^```python title=program\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", program.replace("tables/", f"{tables}/")], capture_output=True, text=True
    )
    assert done.stdout == f"{NAME} {answer(tables, 'select count(*) from incidents')[0][0]}\n", done.stderr


def test_the_command_writes_tables_and_asks_them(tmp_path: Path) -> None:
    folder = str(tmp_path / "tables")
    for words in (("export", str(SAMPLE), "--format", "parquet", "-o", folder), ("sql", folder, "from incidents")):
        done = subprocess.run([CAUSELINE, *words], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
    assert "Service ring was away" in done.stdout


def test_without_the_libraries_a_sentence_says_how_to_install_them() -> None:
    code = "import sys; sys.modules['pyarrow'] = None; from dashboard.cli.__main__ import main; main(['sql', 'a', 'b'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert 'pip install "causeline[tables]"' in done.stderr and "Traceback" not in done.stderr


def test_no_other_command_imports_the_libraries() -> None:
    code = "import sys, dashboard.cli.__main__; sys.exit(bool({'pyarrow', 'duckdb'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
