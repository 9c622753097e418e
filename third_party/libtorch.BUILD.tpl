load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "libtorch",
    srcs = [
%{libraries}    ],
    # One folder rather than 11 000 files: else sandboxing a compilation would
    # cost more than the compilation.
    textual_hdrs = [
        "include",
        # Bazel compares a folder by its name: with another LibTorch this differs,
        # and nothing precompiled with the one before is taken for up to date.
        "origin.txt",
    ],
    # As LibTorch's own CMake package: its headers differ without.
    defines = ["USE_DISTRIBUTED"],
    includes = [
        "include",
        "include/torch/csrc/api/include",
    ],
    linkopts = ["-pthread"],
)
