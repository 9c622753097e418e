package(default_visibility = ["//visibility:public"])

# Each header costs every sandboxed compilation a link, so what only LibTorch's
# own kernels include is left out.
filegroup(
    name = "headers",
    srcs = glob(
        ["include/**"],
        exclude = [
            "include/ATen/ops/*_meta_dispatch.h",
            "include/ATen/ops/*_cuda_dispatch.h",
            "include/ATen/ops/*_compositeexplicit*_dispatch.h",
            "include/ATen/ops/*_compositeimplicit*_dispatch.h",
        ],
    ),
)

cc_library(
    name = "libtorch",
    srcs = [
%{libraries}    ],
    hdrs = [":headers"],
    includes = [
        "include",
        "include/torch/csrc/api/include",
    ],
    linkopts = ["-pthread"],
)

# c10d::ProcessGroupGloo. Its header includes <gloo/...>, which LibTorch leaves
# out and Debian's libgloo-dev has.
cc_library(
    name = "c10d_gloo",
    defines = [
        "USE_C10D_GLOO",
        "USE_DISTRIBUTED",
    ],
    deps = [":libtorch"],
)
