"""The programs of docs/python.md and docs/engines.md run."""

import pathlib
import re
import subprocess
import sys

import pyarrow
import pyarrow.parquet
import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PROGRAMS = [
    program for page in ("python.md", "engines.md")
    for program in re.findall(
        r"^```python\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S
    )
]
OVER_RANKS = r"R2 of 101 rows: (\S+)"
EXPECTED = [
    r"val/accuracy: 0\.\d{3}", r"Slice\(key=\('north',\), rows=2", r"mean loss: \d\.\d{3}",
    OVER_RANKS, r"map: 1\.000, of classes \[0, 1\]", r"FID: \d+\.\d\d",
    r"\(missing\): 0\.\d{3} of 333 rows\n.*of 334 rows\n(.*\n)?0\.\d+ \[0\.4\d+, 0\.5\d+\]\n", "",
    r"tensor\(0\.7500", r"AUROC of 2 days: 0\.8\d\d",
]


def run(folder, number, *launcher):
    pyarrow.parquet.write_table(
        pyarrow.table({"site": ["north"] * 2, "score": [0.2, 0.9], "label": [0, 1]}),
        folder / "predictions.parquet",
    )
    file = folder / f"program_{number}.py"
    file.write_text(PROGRAMS[number])
    result = subprocess.run(
        [sys.executable, *launcher, str(file)], capture_output=True, text=True, cwd=folder
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_all_are_known():
    assert len(PROGRAMS) == len(EXPECTED)


@pytest.mark.parametrize(
    "number", [i for i, expected in enumerate(EXPECTED) if expected != OVER_RANKS]
)
def test_alone(tmp_path, number):
    assert re.search(EXPECTED[number], run(tmp_path, number))


def test_over_ranks(tmp_path):
    number = EXPECTED.index(OVER_RANKS)
    found = [
        re.findall(
            OVER_RANKS,
            run(tmp_path, number, "-m", "torch.distributed.run", "--standalone",
                "--nproc-per-node", str(world)),
        )
        for world in (1, 2, 3)
    ]
    assert all(len(values) == 1 for values in found), found
    assert found[0] == found[1] == found[2]
