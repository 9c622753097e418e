"""What Debian's Bazel lacks: the repositories that upstream's downloads."""

def _files_impl(rctx):
    for label, path in rctx.attr.files.items():
        rctx.symlink(label, path)

_files_repository = repository_rule(
    implementation = _files_impl,
    attrs = {"files": attr.label_keyed_string_dict(allow_files = True)},
)

# Files of rules_cc that ours load, and what serves them. Several are one here.
_RULES_CC = {
    "cc/BUILD": "rules_cc.BUILD",
    "cc/action_names.bzl": "rules_cc_common.bzl",
    "cc/builtins.bzl": "rules_cc_builtins.bzl",
    "cc/common/BUILD": "rules_cc.BUILD",
    "cc/common/cc_common.bzl": "rules_cc_common.bzl",
    "cc/common/cc_info.bzl": "rules_cc_common.bzl",
    "cc/defs.bzl": "rules_cc_defs.bzl",
    "cc/find_cc_toolchain.bzl": "rules_cc_common.bzl",
}

def _rules_cc_impl(rctx):
    for path, file in _RULES_CC.items():
        rctx.symlink(Label("//third_party/debian:" + file), path)

_rules_cc_repository = repository_rule(implementation = _rules_cc_impl)

def debian_repositories():
    _rules_cc_repository(name = "rules_cc")
    _files_repository(
        name = "remote_coverage_tools",
        files = {
            Label("//third_party/debian:remote_coverage_tools.BUILD"): "BUILD",
        },
    )
    native.local_repository(
        name = "rules_java",
        path = "/usr/share/bazel/rules/java",
    )
    native.local_repository(
        name = "rules_proto",
        path = "/usr/share/bazel/rules/proto",
    )
    native.local_repository(
        name = "bazel_skylib",
        path = "/usr/share/bazel/tools/skylib",
    )
