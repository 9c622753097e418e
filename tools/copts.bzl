"""Compiler options of all of Tally's sources."""

# -Werror is in .bazelrc: it is meant for this repository, not for a project
# that builds Tally with a compiler we have not met.
COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wno-sign-compare",
]

# at::parallel_for runs serially unless the file that calls it is compiled
# with -fopenmp.
OPENMP = ["-fopenmp"]

# A workspace that depends on this one has Bazel's default mode, which has no
# -O. "opt" brings the toolchain's own, which a user's --copt may raise; "dbg"
# is asked for by those who want none.
OPTIMIZED = {
    str(Label("//tools:fastbuild")): ["-O2"],
    "//conditions:default": [],
}

# Tests are compiled once and run for a moment; what they test is optimised.
TEST_COPTS = [
    "-O0",
    "-U_FORTIFY_SOURCE",
]

def optimisation(pch):
    """Returns the options for sources that begin with this header."""
    return TEST_COPTS if pch and pch.endswith("test") else select(OPTIMIZED)
