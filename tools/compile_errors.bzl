"""What the compiler says of a source with mistakes in it."""

load("@rules_cc//cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load(":copts.bzl", "COPTS", "optimisation")

def _impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    compilation = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = ctx.file.src.path,
        output_file = ctx.outputs.out.path + ".o",
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts +
                             ctx.attr.copts + ["-fsyntax-only"],
        include_directories = compilation.includes,
        quote_include_directories = compilation.quote_includes,
        system_include_directories = compilation.system_includes,
        preprocessor_defines = compilation.defines,
        use_pic = True,
    )
    command_line = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = variables,
    )
    compiler = cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
    )
    ctx.actions.run_shell(
        mnemonic = "CompileMistakes",
        progress_message = "Compiling the mistakes of {}".format(ctx.label),
        # It must not compile; what it says in the end is up to the test.
        command = "! \"$@\" 2>" + ctx.outputs.out.path,
        arguments = [compiler] + command_line,
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        inputs = depset(
            [ctx.file.src],
            transitive = [compilation.headers, toolchain.all_files],
        ),
        outputs = [ctx.outputs.out],
    )

_compile_errors = rule(
    implementation = _impl,
    attrs = {
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "out": attr.output(mandatory = True),
        "src": attr.label(allow_single_file = [".cc"], mandatory = True),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
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
    enabled = str(Label("//tools/pch:enabled"))
    _compile_errors(
        name = name,
        testonly = True,
        src = src,
        out = out,
        copts = COPTS + optimisation(pch) + select({
            enabled: ["-include", "tools/pch/{}.pch/pch.h".format(pch)],
            "//conditions:default": [],
        }),
        deps = deps + select({
            enabled: [str(Label("//tools/pch:" + pch))],
            "//conditions:default": [],
        }),
    )
