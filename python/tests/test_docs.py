"""The programs of docs/python.md run."""

import pathlib
import re
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
EXPECTED = [r"val/accuracy: 0\.\d{3}", r"mean loss: \d\.\d{3}", r"R2 of 101 rows: (\S+)",
            r"map: 1\.000, of classes \[0, 1\]", r"FID: \d+\.\d\d",
            r"\(missing\): 0\.\d{3} of 333 rows\n.*of 334 rows\n(.*\n)?0\.\d+ \[0\.4\d+, 0\.5\d+\]\n", ""]


def run(folder, number, *launcher):
    file = folder / f"program_{number}.py"
    file.write_text(PROGRAMS[number])
    result = subprocess.run(
        [sys.executable, *launcher, str(file)], capture_output=True, text=True, cwd=folder
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_all_are_known():
    assert len(PROGRAMS) == len(EXPECTED)


@pytest.mark.parametrize("number", [0, 1, 3, 4, 5, 6])
def test_alone(tmp_path, number):
    assert re.search(EXPECTED[number], run(tmp_path, number))


def test_over_ranks(tmp_path):
    found = [
        re.findall(
            EXPECTED[2],
            run(tmp_path, 2, "-m", "torch.distributed.run", "--standalone",
                "--nproc-per-node", str(world)),
        )
        for world in (1, 2, 3)
    ]
    assert all(len(values) == 1 for values in found), found
    assert found[0] == found[1] == found[2]
