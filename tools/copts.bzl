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

# Tests are compiled once and run for a moment; what they test is optimised.
TEST_COPTS = [
    "-O0",
    "-U_FORTIFY_SOURCE",
]

def optimisation(pch):
    """Returns the options for sources that begin with this header."""
    return TEST_COPTS if pch and pch.endswith("test") else []
