"""What `import tally` does."""

import importlib.metadata
import re
import subprocess
import sys
import textwrap

import pytest


def python(code, *paths):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, env={"PYTHONPATH": ":".join(map(str, paths))},
    )


def fake_torch(folder, version):
    info = folder / f"torch-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")


@pytest.mark.parametrize("version", ["2.10.0", "2.12.0+cpu", "2.110.0", "3.0"])
def test_another_torch_is_refused_in_one_line(tmp_path, version):
    fake_torch(tmp_path, version)
    result = python("import tally", tmp_path)
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: tally 0.1.0 needs torch 2.11, and found " + version)
    assert "pip install 'torch==2.11.*'" in last
    # Before anything of torch was loaded.
    assert "undefined symbol" not in result.stderr


@pytest.mark.parametrize("version", ["2.11.0+cpu", "2.11.1"])
def test_builds_of_the_same_minor_version_are_taken(tmp_path, version):
    fake_torch(tmp_path, version)
    assert python("import tally", tmp_path).returncode == 0


def test_torch_is_found_before_or_after():
    assert python("import tally, torch; tally.MeanMetric()").returncode == 0
    assert python("import torch, tally; tally.MeanMetric()").returncode == 0


def test_torchmetrics_is_not_needed():
    code = """
        import sys
        sys.modules["torchmetrics"] = None
        import tally
        try:
            import tally.compat.torchmetrics
        except ImportError as error:
            print(error)
    """
    result = python(code)
    assert "tally-metrics[torchmetrics]" in result.stdout, result.stderr


def test_the_wheel_fits_systems_with_glibc_2_34():
    wheel = importlib.metadata.distribution("tally-metrics").read_text("WHEEL")
    glibc = int(re.search(r"^Tag: py3-none-manylinux_2_(\d+)_x86_64$", wheel, re.M)[1])
    assert glibc <= 34


def test_import_does_not_bring_the_compiler():
    code = "import tally, sys; tally.MeanMetric().update(1.0); print('torch._dynamo' in sys.modules)"
    assert python(code).stdout.strip() == "False"
