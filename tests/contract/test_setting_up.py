"""Setting up says what it waits for, and is done once."""

from __future__ import annotations

import importlib.util
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.once
ROOT = Path(__file__).parents[2]


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module dev.py, in a project of its own."""
    specification = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python whose pip takes a while, and fails if it has to install what does not exist."""
    program = tmp_path / "python"
    program.write_text(
        f"#!{sys.executable}\nimport sys, time\ntime.sleep(.5)\nsys.exit('nothing' in sys.argv)\n"
    )
    program.chmod(0o755)
    return program


def test_an_installation_is_never_silent_for_long(dev, python, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(dev, "SIGN_OF_LIFE", 0.1)
    (tmp_path / ".venv/lib/site-packages/pytest-9.dist-info").mkdir(parents=True)
    dev.install(tmp_path / ".venv", python, "something")
    first, *others = capfd.readouterr().out.splitlines()
    assert re.fullmatch(r"\+ python -m pip install .* something", first)
    assert others
    assert all(re.fullmatch(r"  \d+ s: packages in \.venv: 1", line) for line in others)


def test_an_installation_that_fails_ends_everything(dev, python, tmp_path):
    with pytest.raises(SystemExit) as stopped:
        dev.install(tmp_path, python, "nothing")
    assert stopped.value.code == 1


def test_an_environment_is_made_once_and_again_when_the_project_changes(dev, tmp_path, monkeypatch):
    made, installed = [], []
    monkeypatch.setattr(
        dev.venv, "create", lambda folder, **_: made.append(folder.mkdir(exist_ok=True))
    )
    monkeypatch.setattr(
        dev, "install", lambda folder, python, *packages: installed.append(packages)
    )
    for packages in ([".[test]"], [".[test]"], ["."], ["."]):
        dev.environment(".venv", *packages)
    assert (len(made), installed) == (1, [("--editable", ".[test]"), ("--editable", ".")])
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    dev.environment(".venv", ".")
    assert (len(made), len(installed)) == (2, 3)


def test_the_oldest_duckdb_is_installed_once_and_never_half(dev, tmp_path, monkeypatch):
    programs, installed = tmp_path / ".venv" / "bin", []

    def install(folder: Path, python: Path, *packages: str) -> None:
        installed.append(packages[-1])
        Path(packages[-2]).mkdir(parents=True)
        if len(installed) == 1:
            raise SystemExit

    monkeypatch.setattr(dev, "install", install)
    with pytest.raises(SystemExit):
        dev.oldest_duckdb(programs)
    folder = dev.oldest_duckdb(programs)
    assert folder.is_dir()
    assert dev.oldest_duckdb(programs) == folder
    assert installed == [f"duckdb=={dev.OLDEST_DUCKDB}"] * 2


@pytest.mark.parametrize("codes", [(0, 0), (1, 0), (0, 1)])
def test_two_runs_at_once_are_both_heard_and_both_count(dev, codes, monkeypatch, capfd):
    monkeypatch.setattr(dev, "ROOT", ROOT)
    newest, older = (
        [sys.executable, "-c", f"import os; print('on', os.environ.get('WHAT')); exit({code})"]
        for code in codes
    )
    with (
        pytest.raises(SystemExit) if any(codes) else nullcontext(),
        dev.beside(*older, environ={"WHAT": "older"}),
    ):
        dev.run(*newest)
    output = capfd.readouterr().out
    assert output.index("on None") < output.index("on older")
