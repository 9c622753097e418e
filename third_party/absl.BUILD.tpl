load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

# Abseil's shared libraries call into one another from inline code. The linker
# is offered all of them and takes what is used.
_LIBRARIES = [
%{libraries}]

cc_library(
    name = "link",
    linkopts = ["-Wl,--push-state,--as-needed"] +
               ["-l" + library for library in _LIBRARIES] +
               ["-Wl,--pop-state"],
    visibility = ["//visibility:private"],
)

[
    cc_library(
        name = name,
        deps = [":link"],
    )
    for name in [
        "algorithm",
        "any_invocable",
        "base",
        "btree",
        "cleanup",
        "core_headers",
        "cord",
        "fixed_array",
        "flags",
        "flags_parse",
        "flags_usage",
        "flat_hash_map",
        "flat_hash_set",
        "function_ref",
        "hash",
        "inlined_vector",
        "memory",
        "node_hash_map",
        "node_hash_set",
        "numeric",
        "span",
        "status",
        "statusor",
        "str_format",
        "strings",
        "synchronization",
        "time",
    ]
]
