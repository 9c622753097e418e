"""Headers of LibTorch and GoogleTest, compiled once for the sources that use them.

Half of what it costs to compile a source of ours is LibTorch's headers. GCC
takes them from a file next to the header that is included first on the command
line, where that file was made with the same options; else it reads the header
itself, which costs time and changes nothing. Headers of our own stay out: each
change of one would compile everything anew.

Off unless --define=tally_pch=1 and --force_pic are set, as .bazelrc does.
"""

load("@rules_cc//cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# Not "clang", which has a format and rules of its own.
_GCC = ["compiler", "gcc"]

def _impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    compilation = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context

    # A header beside the source's would be found in the source's place.
    header = ctx.actions.declare_file(ctx.label.name + ".pch/pch.h")
    outputs = [header]
    if toolchain.compiler in _GCC:
        ctx.actions.expand_template(
            template = ctx.file.hdr,
            output = header,
            substitutions = {},
        )
        compiled = ctx.actions.declare_file(
            ctx.label.name + ".pch/pch.h.gch/compiled.h",
        )
        outputs.append(compiled)
        features = cc_common.configure_features(
            ctx = ctx,
            cc_toolchain = toolchain,
            requested_features = ctx.features,
            unsupported_features = ctx.disabled_features,
        )
        variables = cc_common.create_compile_variables(
            feature_configuration = features,
            cc_toolchain = toolchain,
            source_file = header.path,
            output_file = compiled.path,
            user_compile_flags = ctx.fragments.cpp.copts +
                                 ctx.fragments.cpp.cxxopts +
                                 ctx.attr.copts + ["-x", "c++-header"],
            include_directories = compilation.includes,
            quote_include_directories = compilation.quote_includes,
            system_include_directories = compilation.system_includes,
            preprocessor_defines = compilation.defines,
            use_pic = True,
        )
        ctx.actions.run(
            mnemonic = "PrecompileHeader",
            progress_message = "Precompiling {}".format(ctx.label),
            executable = cc_common.get_tool_for_action(
                feature_configuration = features,
                action_name = CPP_COMPILE_ACTION_NAME,
            ),
            arguments = cc_common.get_memory_inefficient_command_line(
                feature_configuration = features,
                action_name = CPP_COMPILE_ACTION_NAME,
                variables = variables,
            ),
            env = cc_common.get_environment_variables(
                feature_configuration = features,
                action_name = CPP_COMPILE_ACTION_NAME,
                variables = variables,
            ),
            inputs = depset(
                [header],
                transitive = [compilation.headers, toolchain.all_files],
            ),
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
    attrs = {
        "hdr": attr.label(
            doc = "Includes what is to be compiled, and nothing of Tally's.",
            allow_single_file = [".h"],
            mandatory = True,
        ),
        "copts": attr.string_list(
            doc = "Those of the sources, as far as they matter to GCC.",
        ),
        "deps": attr.label_list(
            doc = "Libraries whose headers are included.",
            providers = [CcInfo],
        ),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
