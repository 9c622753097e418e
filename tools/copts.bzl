"""Compiler options of all of Tally's sources."""

load("@libtorch//:version.bzl", "STANDARD")

# -Werror is in .bazelrc: it is meant for this repository, not for a project
# that builds Tally with a compiler we have not met.
_COPTS = [
    # What the headers of this LibTorch need.
    STANDARD,
    # A product and a sum round apart, whatever the processor: values and
    # discrete choices must not depend on where the compiler fuses them.
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wno-sign-compare",
]

# at::parallel_for runs serially unless the file that calls it is compiled with it.
OPENMP = select({
    # Another OpenMP than LibTorch's: parallel_for is then a loop.
    str(Label("//tools:fuzz")): [],
    "//conditions:default": ["-fopenmp"],
})

# A workspace that depends on this one has Bazel's default mode, which has no
# -O. "opt" brings the toolchain's own, which a user's --copt may raise; "dbg"
# is asked for by those who want none.
_OPTIMIZED = {
    str(Label("//tools:fastbuild")): ["-O2"],
    "//conditions:default": [],
}

# Tests are compiled once and run for a moment; what they test is optimized.
_TEST_COPTS = [
    "-O0",
    "-U_FORTIFY_SOURCE",
]

def copts(pch):
    """Returns the options of sources that begin with a header of tools/pch."""
    is_test = pch and pch.endswith("test")
    return _COPTS + OPENMP + (_TEST_COPTS if is_test else select(_OPTIMIZED))
