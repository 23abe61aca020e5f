"""uv installs the packages of a checkout from where pip would."""

from pathlib import Path

import pytest

from deploy import install


def test_uv_gets_the_settings_of_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_INDEX_URL", "PIP_FIND_LINKS", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\nindex-url = https://file.example.org/simple\ntimeout = 60\n"
        "extra-index-url =\n  https://one.example.org\n  https://two.example.org\n"
        "[install]\nfind-links = /one /two\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.setenv("PIP_INDEX_URL", "https://variable.example.org/simple")
    given = install.settings_of(install.own_pip())
    assert given["UV_DEFAULT_INDEX"] == "https://variable.example.org/simple"
    assert given["UV_INDEX"] == "https://one.example.org https://two.example.org"
    assert given["UV_FIND_LINKS"] == "/one,/two"
    assert not any("timeout" in name.lower() for name in given)
