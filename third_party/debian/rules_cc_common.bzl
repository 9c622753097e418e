"""What is loaded from rules_cc to write rules with."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", _CPP_COMPILE_ACTION_NAME = "CPP_COMPILE_ACTION_NAME", _CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME = "CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", _find_cpp_toolchain = "find_cpp_toolchain")
load("//cc:builtins.bzl", "builtin_cc_common", "builtin_cc_info")

CPP_COMPILE_ACTION_NAME = _CPP_COMPILE_ACTION_NAME
CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME = _CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME
CcInfo = builtin_cc_info
cc_common = builtin_cc_common
find_cpp_toolchain = _find_cpp_toolchain
