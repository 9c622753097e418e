package(default_visibility = ["//visibility:public"])

cc_library(
    name = "libtorch",
    srcs = [
%{libraries}    ],
    # A folder, not 11 000 files: sandboxing each compilation would cost more than
    # compiling it.
    textual_hdrs = ["include"],
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
