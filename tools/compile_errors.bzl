"""What the compiler says of a source with mistakes in it."""

load(":compile_action.bzl", "COMPILE_ATTRS", "COMPILE_FRAGMENTS", "COMPILE_TOOLCHAINS", "compile_action")
load(":copts.bzl", project_copts = "copts")
load(":tally.bzl", "precompiled")

def _impl(ctx):
    out = ctx.outputs.out
    compile = compile_action(ctx, ctx.file.src, out.path + ".o", ["-fsyntax-only"])
    ctx.actions.run_shell(
        mnemonic = "CompileMistakes",
        progress_message = "Compiling the mistakes of {}".format(ctx.label),
        # It must not compile; what it says in the end is up to the test.
        command = "! \"$@\" 2>" + out.path,
        arguments = [compile.executable] + compile.arguments,
        env = compile.env,
        inputs = compile.inputs,
        outputs = [out],
    )

_compile_errors = rule(
    implementation = _impl,
    attrs = dict(
        COMPILE_ATTRS,
        out = attr.output(mandatory = True),
        src = attr.label(allow_single_file = [".cc"], mandatory = True),
    ),
    fragments = COMPILE_FRAGMENTS,
    toolchains = COMPILE_TOOLCHAINS,
)

def compile_errors(name, src, out, deps, pch = "test"):
    """Fails to build unless a source fails to compile.

    Args:
      name: the target's name.
      src: a source with mistakes.
      out: the file that gets what the compiler says.
      deps: libraries whose headers it includes.
      pch: the header of tools/pch that it begins with.
    """
    pch_deps, pch_copts = precompiled(pch)
    _compile_errors(
        name = name,
        testonly = True,
        src = src,
        out = out,
        copts = project_copts(pch) + pch_copts,
        deps = deps + pch_deps,
    )
