"""A shared library to be loaded into a Python that has torch."""

load("@rules_cc//cc:action_names.bzl", "CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cpp_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# Of torch. What these are linked with is left to torch, OpenMP too: it goes by
# another name in each of torch's builds.
_OF_TORCH = ["libtorch_cpu.so", "libc10.so"]

def _impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    whole, archives, shared, flags = [], [], [], []
    for dep in ctx.attr.deps:
        for input in dep[CcInfo].linking_context.linker_inputs.to_list():
            flags += [flag for flag in input.user_link_flags if flag.startswith("-l")]
            for library in input.libraries:
                archive = library.pic_static_library or library.static_library
                if not archive:
                    file = library.resolved_symlink_dynamic_library or library.dynamic_library
                    if file.basename in _OF_TORCH:
                        shared.append(file)
                elif library.alwayslink:
                    whole.append(archive)
                else:
                    archives.append(archive)
    exports = ctx.actions.declare_file(ctx.attr.name + ".exports")

    # Loading it registers its classes; the starter of the program calls what it exports.
    ctx.actions.write(exports, "{{ global: {}; local: *; }};\n".format(ctx.attr.exported))
    ctx.actions.run(
        mnemonic = "LinkPythonModule",
        progress_message = "Linking {}".format(ctx.label),
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME,
        ),
        arguments = [
            "-shared",
            "-o",
            ctx.outputs.out.path,
            "-Wl,--version-script=" + exports.path,
            "-Wl,--gc-sections",
            "-Wl,--build-id=none",
            "-Wl,-z,relro,-z,now",
            "-Wl,--strip-all",
            "-Wl,-soname," + ctx.outputs.out.basename,
            # The old kind, by which libraries there find one another, too.
            "-Wl,--disable-new-dtags",
            "-Wl,-rpath,$ORIGIN/libs:$ORIGIN/../torch/lib",
            "-Wl,--whole-archive",
        ] + [file.path for file in whole] + [
            "-Wl,--no-whole-archive",
            "-Wl,--start-group",
        ] + [file.path for file in archives] + [
            "-Wl,--end-group",
        ] + [file.path for file in shared] + ["-Wl,--as-needed"] + flags + [
            "-lstdc++",
            "-lm",
        ],
        env = {"PATH": "/usr/bin:/bin"},
        inputs = depset(
            [exports] + whole + archives + shared,
            transitive = [toolchain.all_files],
        ),
        outputs = [ctx.outputs.out],
    )
    return [DefaultInfo(files = depset([ctx.outputs.out]))]

python_module = rule(
    doc = "Links what is of this workspace, all but one function hidden, with torch's libraries and the system's.",
    implementation = _impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo], mandatory = True),
        "exported": attr.string(mandatory = True),
        "out": attr.output(mandatory = True),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
