"""How rules call the compiler as cc_library would."""

load("@rules_cc//cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

COMPILE_ATTRS = {
    "copts": attr.string_list(),
    "deps": attr.label_list(providers = [CcInfo]),
    "_cc_toolchain": attr.label(
        default = "@bazel_tools//tools/cpp:current_cc_toolchain",
    ),
}
COMPILE_FRAGMENTS = ["cpp"]
COMPILE_TOOLCHAINS = ["@bazel_tools//tools/cpp:toolchain_type"]

def compile_action(ctx, source, output, flags, pic = True):
    """Returns what ctx.actions needs to compile a source of a rule with those.

    Args:
      ctx: the rule's, with COMPILE_ATTRS, COMPILE_FRAGMENTS, COMPILE_TOOLCHAINS.
      source: a file.
      output: the path of the object file.
      flags: options behind all others.
      pic: whether with -fPIC.

    Returns:
      A struct of executable, arguments, env and inputs.
    """
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
        source_file = source.path,
        output_file = output,
        user_compile_flags = ctx.fragments.cpp.copts +
                             ctx.fragments.cpp.cxxopts +
                             ctx.attr.copts + flags,
        include_directories = compilation.includes,
        quote_include_directories = compilation.quote_includes,
        system_include_directories = compilation.system_includes,
        preprocessor_defines = compilation.defines,
        use_pic = pic,
    )
    return struct(
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
            [source],
            transitive = [compilation.headers, toolchain.all_files],
        ),
    )
