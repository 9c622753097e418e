"""Makes the pictures of the README and the guides: charts of the digits example.

Usage: report_images.py

Runs bazel-bin/examples/digits/digits with --log, reports on its log with
bazel-bin/cli/tally, and writes charts of that page to docs/images/digits. Build
both first:

    ./tools/bazel build //examples/digits //cli:tally
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "docs" / "images" / "digits"

# Titles of charts, and the names of their files.
CHARTS = {"confusion": "confusion", "digit.f1": "f1", "loss": "loss", "accuracy": "accuracy"}


def charts(page):
    """The charts of a page, by title; on their own they need no ids."""
    for svg in re.findall(r"<svg .*?</svg>\n", page, re.S):
        svg = re.sub(r' (id|aria-\w+)="chart-[^"]*"', "", svg)
        yield re.search(r"<title>(.*?)</title>", svg).group(1), svg


def main():
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.jsonl"
        page = pathlib.Path(folder) / "report.html"
        for command in (
            ["bazel-bin/examples/digits/digits", "--log", folder],
            ["bazel-bin/cli/tally", "report", "--log", str(log), "-o", str(page)],
        ):
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        found = dict(charts(page.read_text(encoding="utf-8")))
    OUTPUT.mkdir(parents=True, exist_ok=True)
    for title, name in CHARTS.items():
        (OUTPUT / f"{name}.svg").write_text(found[title], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
