"""A rule that finds the headers of a library and of all it depends on."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

def _public_headers_impl(ctx):
    headers = ctx.attr.library[CcInfo].compilation_context.headers.to_list()
    ours = [h for h in headers if "/_virtual_includes/" in h.path and "/tally/" in h.path]
    files = depset(ours)
    return [DefaultInfo(
        files = files,
        runfiles = ctx.runfiles(transitive_files = files),
    )]

public_headers = rule(
    implementation = _public_headers_impl,
    doc = "The headers that users of `library` can include from this repository.",
    attrs = {"library": attr.label(providers = [CcInfo], mandatory = True)},
)
