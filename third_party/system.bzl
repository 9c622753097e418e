"""A repository rule for libraries installed under /usr.

Their BUILD files hold link options only: the headers are on the compiler's own
path, and naming /usr/include once more would change its order.
"""

def _system_impl(rctx):
    if not rctx.path("/usr/include/" + rctx.attr.header).exists:
        fail("<{}> is missing: run ./tools/bazel, or install {}.".format(
            rctx.attr.header,
            rctx.attr.package,
        ))
    rctx.symlink(rctx.attr.build_file, "BUILD")

system_repository = repository_rule(
    implementation = _system_impl,
    attrs = {
        "build_file": attr.label(allow_single_file = True, mandatory = True),
        "header": attr.string(mandatory = True),
        "package": attr.string(mandatory = True),
    },
    local = True,
)
