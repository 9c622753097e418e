load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

# c10d::ProcessGroupNCCL; see //tools:nccl.
cc_library(
    name = "c10d_nccl",
    srcs = [
%{libraries}    ],
    hdrs = glob(["include/**"]),
    defines = [
        "USE_C10D_NCCL",
        "USE_CUDA",
    ],
    includes = [
        "include/cuda",
        "include/nccl",
    ],
    deps = ["@libtorch"],
)
