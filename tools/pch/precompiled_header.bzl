"""Headers of LibTorch and GoogleTest, compiled once for the sources that use them.

Half of what it costs to compile a source of ours is LibTorch's headers. GCC
takes them from a file next to the header that is included first on the command
line, where that file was made with the same options; else it reads the header
itself, which costs time and changes nothing. Headers of our own stay out: each
change of one would compile everything anew.

Off with --define=tally_pch=0. Other compilers than GCC get an empty header.
"""

load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools:compile_action.bzl", "COMPILE_ATTRS", "COMPILE_FRAGMENTS", "COMPILE_TOOLCHAINS", "compile_action")

# Not "clang", which has a format and rules of its own.
_GCC = ["compiler", "gcc"]

def _impl(ctx):
    # A header beside the source's would be found in the source's place.
    header = ctx.actions.declare_file(ctx.label.name + ".pch/pch.h")
    outputs = [header]
    if find_cpp_toolchain(ctx).compiler in _GCC:
        ctx.actions.expand_template(
            template = ctx.file.hdr,
            output = header,
            substitutions = {},
        )
        compiled = ctx.actions.declare_file(
            ctx.label.name + ".pch/pch.h.gch/compiled.h",
        )
        outputs.append(compiled)
        compile = compile_action(ctx, header, compiled.path, ["-x", "c++-header"], ctx.attr.pic)
        ctx.actions.run(
            mnemonic = "PrecompileHeader",
            progress_message = "Precompiling {}".format(ctx.label),
            executable = compile.executable,
            arguments = compile.arguments,
            env = compile.env,
            inputs = compile.inputs,
            outputs = [compiled],
        )
    else:
        ctx.actions.write(header, "")

    root = "/".join([ctx.bin_dir.path, ctx.label.workspace_root]).rstrip("/")
    own = cc_common.create_compilation_context(
        headers = depset(outputs),
        quote_includes = depset([root]),
    )
    return [
        DefaultInfo(files = depset(outputs)),
        cc_common.merge_cc_infos(
            direct_cc_infos = [CcInfo(compilation_context = own)],
            cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
        ),
    ]

precompiled_header = rule(
    implementation = _impl,
    doc = "A header that is compiled before the sources that begin with it.",
    # copts: those of the sources, as far as they matter to GCC. deps: libraries
    # whose headers are included.
    attrs = dict(
        COMPILE_ATTRS,
        hdr = attr.label(
            doc = "Includes what the sources need, and nothing of Tally's.",
            allow_single_file = [".h"],
            mandatory = True,
        ),
        pic = attr.bool(
            doc = "Whether the sources are compiled with -fPIC; GCC takes no other.",
            default = True,
        ),
    ),
    fragments = COMPILE_FRAGMENTS,
    provides = [CcInfo],
    toolchains = COMPILE_TOOLCHAINS,
)
