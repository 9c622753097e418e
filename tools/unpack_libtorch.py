"""Unpacks the C++ part of LibTorch's wheels.

Usage: unpack_libtorch.py TARGET WHEEL...

TARGET gets include/, lib/ and licenses/. The Python files and the CUDA half of
the wheel (two thirds of it) stay behind.
"""

import pathlib
import re
import shutil
import sys
import zipfile

# What is kept, and where it goes. The two CUDA libraries join libtorch_cpu.so,
# which then finds them by its own run path.
RULES = [
    (r"torch/include/(.+)", r"include/\1"),
    (r"torch/lib/(libc10\.so|libtorch_cpu\.so|libgomp\.so\.1)", r"lib/\1"),
    # What libtorch_cpu.so needs on ARM64.
    (r"torch/lib/(libarm_compute\w*\.so|libnvpl_\w+\.so\.0|libgfortran\.so\.5)", r"lib/\1"),
    (r"nvidia/(?:cu13|cuda_\w+)/lib/((?:libcudart|libcupti)\.so\.1[23])", r"lib/\1"),
    (r"([^/]+)\.dist-info/licenses/(.+)", r"licenses/\1/\2"),
]


def destination(member):
    for pattern, replacement in RULES:
        match = re.fullmatch(pattern, member)
        if match:
            return match.expand(replacement)
    return None


def main(target, *wheels):
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for info in archive.infolist():
                name = destination(info.filename)
                if name is None or info.is_dir():
                    continue
                path = pathlib.Path(target, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(info) as source, path.open("wb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)


if __name__ == "__main__":
    main(*sys.argv[1:])
