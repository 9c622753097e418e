"""The rules Tally's own packages are written with.

A header `accuracy.h` in the package metrics/classification is included as
<tally/metrics/classification/accuracy.h>, from every target that lists the
library in its deps; packages do not say so themselves.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load(":copts.bzl", "OPENMP", project_copts = "copts")

def precompiled(name):
    """Returns the dependencies and options that a header of tools/pch takes."""
    if not name:
        return [], []
    disabled = str(Label("//tools/pch:disabled"))
    return select({
        disabled: [],
        "//conditions:default": [str(Label("//tools/pch:" + name))],
    }), select({
        disabled: [],
        "//conditions:default": ["-include", "tools/pch/{}.pch/pch.h".format(name)],
    })

# How many sources are compiled as one at most. The more, the less in all, and the
# longer the wait after a change of one.
_JOINED = 8

# GCC takes a source within another for a header, whose classes should not have
# bases with internal linkage.
_JOIN = """(
  echo "#ifndef __clang__"
  echo "#pragma GCC diagnostic ignored \\"-Wsubobject-linkage\\""
  echo "#endif"
  for source in $(SRCS); do
    file=$${source##*/}
    echo "#line 1 \\"$$source\\""
    COPY $$source
  done
) >$@"""

# The sources of a library have no two names alike in their unnamed namespaces:
# tools/check_names sees to that.
_JOIN_LIBRARY = _JOIN.replace("COPY", "cat")

# Each source of a test gets a name of its own in its unnamed namespaces, so that
# what the sources name alike stays apart.
_JOIN_TEST = _JOIN.replace("COPY", """sed \\
        -e "s/^namespace {$$/& namespace joined_$${file%.cc} {/" \\
        -e "s/^}  \\/\\/ namespace$$/}&/\"""")

def _joined(name, srcs, command, joined = _JOINED, testonly = None):
    """Returns sources, joined unless --define=tally_alone names their folder."""
    sources = [src for src in srcs if src.endswith(".cc")]
    if len(sources) < 2 or joined < 2:
        return srcs
    count = len(sources)
    groups = (count + joined - 1) // joined
    outs = [src for src in srcs if src not in sources]
    for i in range(groups):
        out = "{}_joined_{}.cc".format(name, i)
        native.genrule(
            name = out.replace(".cc", ""),
            testonly = testonly,
            srcs = sources[i * count // groups:(i + 1) * count // groups],
            outs = [out],
            cmd = command,
        )
        outs.append(out)
    alone = name + "_alone"
    native.config_setting(
        name = alone,
        define_values = {"tally_alone": native.package_name()},
    )
    return select({
        ":" + alone: srcs,
        str(Label("//tools:alone")): srcs,
        "//conditions:default": outs,
    })

def _include_prefix():
    package = native.package_name()
    return "tally/" + package if package else "tally"

_VECTOR_TARGETS = str(Label("//metrics/common:vector_targets"))

def tally_cc_library(
        name,
        srcs = [],
        hdrs = [],
        deps = [],
        copts = [],
        linkopts = [],
        joined = _JOINED,
        pch = "aten",
        textual_hdrs = [],
        vectorized = False,
        **kwargs):
    """A cc_library whose headers are seen under <tally/PACKAGE/...>.

    Args:
      name: the target's name.
      srcs: sources, and headers that no other target may include.
      hdrs: headers for other targets.
      deps: libraries.
      copts: appended to the project's compiler options.
      linkopts: appended to the project's linker options.
      joined: how many sources are compiled as one at most.
      pch: the header of tools/pch that the sources begin with, if any.
      textual_hdrs: files that sources include.
      vectorized: whether Highway compiles the sources once more for each of the
        targets in metrics/common/vector_targets.h.
      **kwargs: visibility, testonly, alwayslink, tags and so on, as in
        cc_library.
    """

    # Bazel gives the prefix to hdrs alone.
    private_hdrs = [src for src in srcs if src.endswith(".h")]
    if private_hdrs:
        cc_library(
            name = name + "_private_hdrs",
            hdrs = private_hdrs,
            include_prefix = _include_prefix(),
            testonly = kwargs.get("testonly"),
            deps = deps,
            visibility = ["//visibility:private"],
        )
        deps = deps + [":" + name + "_private_hdrs"]
    sources = [src for src in srcs if src not in private_hdrs]
    pch_deps, pch_copts = precompiled(pch)
    cc_library(
        name = name,
        srcs = _joined(
            name,
            sources,
            _JOIN_LIBRARY,
            1 if vectorized else joined,
            kwargs.get("testonly"),
        ),
        textual_hdrs = textual_hdrs + (sources if vectorized else []),
        hdrs = hdrs,
        copts = pch_copts + project_copts(pch) + copts,
        include_prefix = _include_prefix(),
        linkopts = OPENMP + linkopts,
        # No shared library beside each archive: it would only cost a link.
        linkstatic = True,
        deps = pch_deps + deps + ([_VECTOR_TARGETS] if vectorized else []),
        **kwargs
    )

def tally_cc_folder(name, hdrs, labels = {}, visibility = None, **kwargs):
    """The library of a folder, and a label for each of its public headers.

    Whoever depends on one of the labels gets the whole library: its sources are
    compiled together.

    Args:
      name: the library's name.
      hdrs: headers for other targets. Each has a label of its name.
      labels: other labels, and the headers that they stand for.
      visibility: of the library and the labels.
      **kwargs: as in tally_cc_library.
    """
    tally_cc_library(
        name = name,
        hdrs = hdrs,
        visibility = visibility,
        **kwargs
    )
    named = {hdr.split("/")[-1][:-len(".h")]: [hdr] for hdr in hdrs}
    named.update(labels)
    for label, headers in named.items():
        if label != name:
            cc_library(
                name = label,
                hdrs = headers,
                testonly = kwargs.get("testonly"),
                deps = [":" + name],
                visibility = visibility,
            )

def tally_cc_test(
        name,
        srcs,
        deps = [],
        copts = [],
        linkopts = [],
        pch = "test",
        main = False,
        size = "small",
        data = [],
        env = {},
        **kwargs):
    """A GoogleTest program.

    Args:
      name: the target's name.
      srcs: sources. Each has what it names for itself in `namespace {`.
      deps: libraries; GoogleTest, GoogleMock, a seed, the limit of
        TALLY_HWY_TARGET and the order of TALLY_SUM_ORDER are added.
      copts: appended to the project's compiler options.
      linkopts: appended to the project's linker options.
      pch: the header of tools/pch that the sources begin with, if any.
      main: set it where a source has a main() of its own.
      size: as in cc_test; "small" stops the test after a minute.
      data: files that the test reads.
      env: variables of the test; OMP_NUM_THREADS is 1, OMP_WAIT_POLICY
        passive, and LibTorch's flight recorder off, unless given here.
      **kwargs: args, tags, timeout and so on, as in cc_test.
    """
    pch_deps, pch_copts = precompiled(pch)
    cc_test(
        name = name,
        size = size,
        srcs = _joined(name, srcs, _JOIN_TEST, testonly = True),
        copts = pch_copts + project_copts(pch) + copts,
        data = data + select({
            "//tools:asan": ["//tools:lsan.supp"],
            "//tools:tsan": ["//tools:tsan.supp"],
            "//conditions:default": [],
        }),
        # Tests have more threads than cores: those must not spin that wait.
        # LibTorch's flight recorder takes no lock when several threads of a
        # process each use a group for the first time, as ranks in tests do.
        env = dict(
            {
                "OMP_NUM_THREADS": "1",
                "OMP_WAIT_POLICY": "passive",
                "TORCH_FR_BUFFER_SIZE": "0",
            },
            **env
        ),
        linkopts = OPENMP + linkopts,
        linkstatic = True,
        deps = pch_deps + deps + [
            "//tests/testing:seed",
            "//tests/testing:sum_order",
            "//tests/testing:vector_limit",
            "@gtest//:gtest" if main else "@gtest//:gtest_main",
        ],
        **kwargs
    )

def tally_cc_binary(
        name,
        srcs,
        deps = [],
        copts = [],
        linkopts = [],
        pch = "aten",
        **kwargs):
    """A program.

    Args:
      name: the target's name.
      srcs: sources.
      deps: libraries.
      copts: appended to the project's compiler options.
      linkopts: appended to the project's linker options.
      pch: the header of tools/pch that the sources begin with, if any.
      **kwargs: visibility, data, testonly and so on, as in cc_binary.
    """
    pch_deps, pch_copts = precompiled(pch)
    cc_binary(
        name = name,
        srcs = srcs,
        copts = pch_copts + project_copts(pch) + copts,
        linkopts = OPENMP + linkopts,
        linkstatic = True,
        deps = pch_deps + deps,
        **kwargs
    )
