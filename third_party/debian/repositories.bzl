"""What Debian's Bazel lacks: the repositories that upstream's downloads."""

def _files_impl(rctx):
    for label, path in rctx.attr.files.items():
        rctx.symlink(label, path)

_files_repository = repository_rule(
    implementation = _files_impl,
    attrs = {"files": attr.label_keyed_string_dict(allow_files = True)},
)

def debian_repositories():
    _files_repository(
        name = "rules_cc",
        files = {
            Label("//third_party/debian:rules_cc.BUILD"): "cc/BUILD",
            Label("//third_party/debian:rules_cc_defs.bzl"): "cc/defs.bzl",
        },
    )
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
