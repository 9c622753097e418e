"""Reads docs/examples: an example of each metric and loss, with the value it prints.

A file for each domain. A line with the name of a class begins its example, which is
what an interpreter of Python shows after `import tally, torch`;
python/tests/test_site_examples.py runs it.
"""

import pathlib
import re

PROMPTS = (">>> ", "... ")


def read(text: str) -> dict[str, str]:
    """Examples by class."""
    parts = re.split(r"^([A-Z]\w*)\n", text, flags=re.M)
    if parts[0].strip():
        raise ValueError(f"expected the name of a class first, got {parts[0].strip()!r}")
    names = parts[1::2]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"more than one example of {', '.join(sorted(twice))}")
    return dict(zip(names, (example.strip() for example in parts[2::2])))


def read_all(root: pathlib.Path) -> dict[str, str]:
    files = sorted((root / "docs/examples").glob("*.txt"))
    return read("".join(file.read_text(encoding="utf-8") for file in files))


def prints(example: str) -> bool:
    """Whether it ends with what the last line gives."""
    lines = example.strip().splitlines()
    has_call = any(line.startswith(PROMPTS) for line in lines)
    return has_call and not lines[-1].startswith(PROMPTS) and lines[-1].strip() != "..."
