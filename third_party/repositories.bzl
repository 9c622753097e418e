"""Every repository that Tally is built with."""

load("//third_party:libtorch.bzl", "libtorch_nccl_repository", "libtorch_repository")
load("//third_party:system.bzl", "system_repository")
load("//third_party/debian:repositories.bzl", "debian_repositories")

# Repository, a header that shows it is installed, Debian's package.
_SYSTEM = [
    ("benchmark", "benchmark/benchmark.h", "libbenchmark-dev"),
    ("gtest", "gmock/gmock.h", "libgmock-dev and libgtest-dev"),
    ("highway", "hwy/highway.h", "libhwy-dev"),
    ("nlohmann_json", "nlohmann/json.hpp", "nlohmann-json3-dev"),
    ("xxhash", "xxhash.h", "libxxhash-dev"),
]

def dependencies():
    """What Tally is linked with: LibTorch, and the system's libraries."""
    for name, header, package in _SYSTEM:
        system_repository(
            name = name,
            build_file = Label("//third_party:{}.BUILD".format(name)),
            header = header,
            package = package,
        )
    system_repository(
        name = "absl",
        build_file = Label("//third_party:absl.BUILD.tpl"),
        header = "absl/status/status.h",
        package = "libabsl-dev",
        prefix = "absl_",
    )
    libtorch_repository(name = "libtorch")
    libtorch_nccl_repository(name = "libtorch_nccl")

def tally_repositories():
    """For WORKSPACE files, which only Debian 12's Bazel 4.2.3 reads.

    That build has no version. Upstream's have one, and take MODULE.bazel.
    """
    if native.bazel_version:
        fail("WORKSPACE is for Debian 12's Bazel 4.2.3; with Bazel {} depend on Tally in MODULE.bazel (see Tally's README).".format(native.bazel_version))
    debian_repositories()
    dependencies()
