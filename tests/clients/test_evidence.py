"""Outsiders' tools look at a release: pytest -m on_demand tests/clients/test_evidence.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DATA

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.on_demand

LOOK = """
import json, sys
from pathlib import Path
from benchmarks.evidence import guessing
from benchmarks.evidence.__main__ import measure

folder, data = map(Path, sys.argv[1:])
found = list(measure(data / "adult.parquet", folder, 800, 20, ["uniform"]))
print(json.dumps([*found, guessing.play("uniform", 2000, folder)]))
"""


@pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}")
def test_every_tool_looks_at_a_release(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(tmp_path), str(DATA)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table, uniform, (promised, proven) = json.loads(done.stdout.splitlines()[-1])
    assert table["attacks"]["singling out"]["attack"] > uniform["attacks"]["singling out"]["attack"]
    assert table["likeness"]["release"]["alone"] == 1 > uniform["likeness"]["release"]["alone"]
    assert uniform["accounting"]["one"] == pytest.approx(uniform["promised"], abs=2e-3)
    assert 0 < proven < promised
