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


#: The minor version of torch that the package was built for.
TORCH = ".".join(importlib.metadata.version("torch").split(".")[:2])
NEXT = f"2.{int(TORCH.split('.')[1]) + 1}"


def fake_torch(folder, version, module=None):
    if module is not None:
        (folder / "torch").mkdir()
        (folder / "torch" / "__init__.py").write_text(module)
    info = folder / f"torch-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")


@pytest.mark.parametrize("version", ["2.9.0", f"{NEXT}.0+cpu", f"{TORCH}0.0", "3.0"])
def test_another_torch_is_refused_in_one_line(tmp_path, version):
    fake_torch(tmp_path, version)
    result = python("import tally", tmp_path)
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    built = f"ImportError: tally 0.1.0 was built for torch {TORCH}, and found {version}: "
    assert last.startswith(built + f"pip install 'torch=={TORCH}.*', or build the wheel")
    # Before anything of torch was loaded.
    assert "undefined symbol" not in result.stderr


@pytest.mark.parametrize("version", [f"{TORCH}.0+cpu", f"{TORCH}.1"])
def test_builds_of_the_same_minor_version_are_taken(tmp_path, version):
    fake_torch(tmp_path, version)
    assert python("import tally", tmp_path).returncode == 0


def test_a_torch_that_cannot_be_imported_is_told_in_one_line(tmp_path):
    fake_torch(tmp_path, f"{TORCH}.0", "raise OSError('libcudart.so.13: cannot open')")
    last = python("import tally", tmp_path).stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: tally 0.1.0 was built for torch {TORCH}, which is "
                           "installed and cannot be imported: libcudart.so.13: cannot open; ")


def test_two_torches_are_told_in_one_line(tmp_path):
    fake_torch(tmp_path, f"{TORCH}.0", f"__version__ = '{NEXT}.0'")
    last = python("import tally", tmp_path).stderr.strip().splitlines()[-1]
    assert f"there are two: torch {TORCH}.0 is installed, and {tmp_path}/torch/" in last
    assert last.endswith(f"is {NEXT}.0: take one of them off the path")


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
    glibc = int(re.search(r"^Tag: py3-none-manylinux_2_(\d+)_(?:x86_64|aarch64)$", wheel, re.M)[1])
    assert glibc <= 34


def test_import_does_not_bring_the_compiler():
    code = "import tally, sys; tally.MeanMetric().update(1.0); print('torch._dynamo' in sys.modules)"
    assert python(code).stdout.strip() == "False"
