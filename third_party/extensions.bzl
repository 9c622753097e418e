"""Tally's module extension: LibTorch and the system's libraries as repositories.

WORKSPACE files call repositories.bzl instead.
"""

load(":repositories.bzl", "dependencies")

# From the first to the last that Tally's rules are written for.
_OLDEST = (7, 4)
_NEWEST = 9

def _check_version():
    # Debian's builds have none.
    if not native.bazel_version:
        return
    numbers = native.bazel_version.split("-")[0].split(".")
    major, minor = int(numbers[0]), int(numbers[1])
    if (major, minor) < _OLDEST or major > _NEWEST:
        fail("Tally is built with Bazel {}.{} to {}, this is {}.".format(
            _OLDEST[0],
            _OLDEST[1],
            _NEWEST,
            native.bazel_version,
        ))

def _tally_impl(_mctx):
    _check_version()
    dependencies()

tally = module_extension(implementation = _tally_impl)
