"""Every repository that Tally is built with."""

load("//third_party:libtorch.bzl", "libtorch_nccl_repository", "libtorch_repository")
load("//third_party:system.bzl", "system_repository")
load("//third_party/debian:repositories.bzl", "debian_repositories")

# Repository, a header that shows it is installed, Debian's package.
_SYSTEM = [
    ("absl", "absl/status/status.h", "libabsl-dev"),
    ("benchmark", "benchmark/benchmark.h", "libbenchmark-dev"),
    ("gtest", "gmock/gmock.h", "libgmock-dev and libgtest-dev"),
    ("highway", "hwy/highway.h", "libhwy-dev"),
    ("nlohmann_json", "nlohmann/json.hpp", "nlohmann-json3-dev"),
    ("xxhash", "xxhash.h", "libxxhash-dev"),
]

def tally_repositories():
    # Debian's build of Bazel has no version; upstream's has one, and fetches
    # by itself what the shims stand in for.
    if not native.bazel_version:
        debian_repositories()
    for name, header, package in _SYSTEM:
        system_repository(
            name = name,
            build_file = Label("//third_party:{}.BUILD".format(name)),
            header = header,
            package = package,
        )
    libtorch_repository(name = "libtorch")
    libtorch_nccl_repository(name = "libtorch_nccl")
