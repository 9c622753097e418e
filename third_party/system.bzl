"""A repository rule for libraries installed under /usr.

Their BUILD files hold link options only: the headers are on the compiler's own
path, and naming /usr/include once more would change its order.
"""

def library_folders(machine):
    """Where the libraries of a machine are: others may have theirs beside it."""
    return ["/usr/lib64", "/usr/lib", "/usr/lib/{}-linux-gnu".format(machine)]

def _machine(rctx):
    result = rctx.execute(["uname", "-m"])
    if result.return_code != 0:
        fail("uname -m: {}".format(result.stderr))
    return result.stdout.strip()

def _libraries(rctx, prefix):
    """The names of the shared libraries that begin like this, as -l takes them."""
    if not prefix:
        return []
    folders = [rctx.path(folder) for folder in library_folders(_machine(rctx))]
    names = {}
    for folder in folders:
        if folder.exists:
            for file in folder.readdir():
                name = file.basename
                if name.startswith("lib" + prefix) and name.endswith(".so"):
                    names[name[len("lib"):-len(".so")]] = True
    if not names:
        fail("No lib{}*.so is in {}: install {}.".format(
            prefix,
            ", ".join([str(folder) for folder in folders]),
            rctx.attr.package,
        ))
    return sorted(names.keys())

def _system_impl(rctx):
    if not rctx.path("/usr/include/" + rctx.attr.header).exists:
        fail("<{}> is missing: run ./tools/bazel, or install {}.".format(
            rctx.attr.header,
            rctx.attr.package,
        ))
    rctx.template(
        "BUILD",
        rctx.attr.build_file,
        {"%{libraries}": "".join([
            "    \"{}\",\n".format(name)
            for name in _libraries(rctx, rctx.attr.prefix)
        ])},
    )

system_repository = repository_rule(
    implementation = _system_impl,
    attrs = {
        "build_file": attr.label(allow_single_file = True, mandatory = True),
        "header": attr.string(mandatory = True),
        "package": attr.string(mandatory = True),
        "prefix": attr.string(
            doc = "What the names of its libraries begin with, where they " +
                  "differ between versions: %{libraries} in its BUILD file.",
        ),
    },
    local = True,
)
