"""The examples on the site's pages print what docs/examples says."""

import doctest
import importlib.util
import pathlib

import pytest
import tally
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("examples", ROOT / "tools/site/examples.py")
examples = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(examples)
EXAMPLES = examples.read_all(ROOT)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name):
    parsed = doctest.DocTestParser().get_doctest(
        EXAMPLES[name] + "\n", {"tally": tally, "torch": torch}, name, None, None
    )
    assert f"tally.{name}(" in EXAMPLES[name] or f"losses.{name}(" in EXAMPLES[name]
    report = []
    results = doctest.DocTestRunner(verbose=False).run(parsed, out=report.append)
    assert results.failed == 0, "".join(report)
