"""The rules Tally's own packages are written with.

A header `accuracy.h` in the package metrics/classification is included as
<tally/metrics/classification/accuracy.h>, from every target that lists the
library in its deps; packages do not say so themselves.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load(":copts.bzl", "COPTS", "OPENMP", "optimisation")

def precompiled(name, openmp = False):
    """Returns the dependencies and options that a precompiled header takes."""
    if not name:
        return [], []
    pch = name + "_openmp" if openmp else name
    return select({
        str(Label("//tools/pch:enabled")): [str(Label("//tools/pch:" + pch))],
        "//conditions:default": [],
    }), select({
        str(Label("//tools/pch:enabled")): ["-include", "tools/pch/{}.pch/pch.h".format(pch)],
        "//conditions:default": [],
    })

def _openmp(openmp):
    """Returns the options of sources that call at::parallel_for."""
    if not openmp:
        return []
    return select({
        # Another OpenMP than LibTorch's: parallel_for is then a loop.
        str(Label("//tools:fuzz")): [],
        "//conditions:default": OPENMP,
    })

# How many sources of a test are compiled as one at most. The more, the less in
# all, and the longer the wait after a change of one.
_JOINED = 8

# Each source has a name of its own in its unnamed namespaces, so that what the
# sources name alike stays apart. GCC takes a source within another for a header,
# whose classes should not have bases with internal linkage.
_JOIN = """(
  echo "#ifndef __clang__"
  echo "#pragma GCC diagnostic ignored \\"-Wsubobject-linkage\\""
  echo "#endif"
  for source in $(SRCS); do
    file=$${source##*/}
    echo "#line 1 \\"$$source\\""
    sed -e "s/^namespace {$$/& namespace joined_$${file%.cc} {/" \
        -e "s/^}  \\/\\/ namespace$$/}&/" $$source
  done
) >$@"""

def _joined(name, srcs):
    """Returns the sources of a test, joined where headers are precompiled."""
    sources = [src for src in srcs if src.endswith(".cc")]
    if len(sources) < 2:
        return srcs
    count = len(sources)
    groups = (count + _JOINED - 1) // _JOINED
    joined = [src for src in srcs if src not in sources]
    for i in range(groups):
        out = "{}_joined_{}.cc".format(name, i)
        native.genrule(
            name = out.replace(".cc", ""),
            testonly = True,
            srcs = sources[i * count // groups:(i + 1) * count // groups],
            outs = [out],
            cmd = _JOIN,
        )
        joined.append(out)
    return select({
        str(Label("//tools/pch:enabled")): joined,
        "//conditions:default": srcs,
    })

def _include_prefix():
    package = native.package_name()
    return "tally/" + package if package else "tally"

def tally_cc_library(
        name,
        srcs = [],
        hdrs = [],
        deps = [],
        copts = [],
        linkopts = [],
        openmp = False,
        pch = "aten",
        **kwargs):
    """A cc_library whose headers are seen under <tally/PACKAGE/...>.

    Args:
      name: the target's name.
      srcs: sources, and headers that no other target may include.
      hdrs: headers for other targets.
      deps: libraries.
      copts: appended to the project's compiler options.
      linkopts: appended to the project's linker options.
      openmp: set it where a source calls at::parallel_for.
      pch: the header of tools/pch that the sources begin with, if any.
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
    pch_deps, pch_copts = precompiled(pch, openmp)
    cc_library(
        name = name,
        srcs = [src for src in srcs if src not in private_hdrs],
        hdrs = hdrs,
        copts = pch_copts + COPTS + optimisation(pch) + _openmp(openmp) + copts,
        include_prefix = _include_prefix(),
        linkopts = _openmp(openmp) + linkopts,
        # No shared library beside each archive: it would only cost a link.
        linkstatic = True,
        deps = pch_deps + deps,
        **kwargs
    )

def tally_cc_test(
        name,
        srcs,
        deps = [],
        copts = [],
        linkopts = [],
        openmp = False,
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
      openmp: set it where a source calls at::parallel_for.
      pch: the header of tools/pch that the sources begin with, if any.
      main: set it where a source has a main() of its own.
      size: as in cc_test; "small" stops the test after a minute.
      data: files that the test reads.
      env: variables of the test; OMP_NUM_THREADS is 1, OMP_WAIT_POLICY
        passive, and LibTorch's flight recorder off, unless given here.
      **kwargs: args, tags, timeout and so on, as in cc_test.
    """
    pch_deps, pch_copts = precompiled(pch, openmp)
    cc_test(
        name = name,
        size = size,
        srcs = _joined(name, srcs),
        copts = pch_copts + COPTS + optimisation(pch) + _openmp(openmp) + copts,
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
        linkopts = _openmp(openmp) + linkopts,
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
        openmp = False,
        pch = "aten",
        **kwargs):
    """A program.

    Args:
      name: the target's name.
      srcs: sources.
      deps: libraries.
      copts: appended to the project's compiler options.
      linkopts: appended to the project's linker options.
      openmp: set it where a source calls at::parallel_for.
      pch: the header of tools/pch that the sources begin with, if any.
      **kwargs: visibility, data, testonly and so on, as in cc_binary.
    """
    pch_deps, pch_copts = precompiled(pch, openmp)
    cc_binary(
        name = name,
        srcs = srcs,
        copts = pch_copts + COPTS + optimisation(pch) + _openmp(openmp) + copts,
        linkopts = _openmp(openmp) + linkopts,
        linkstatic = True,
        deps = pch_deps + deps,
        **kwargs
    )
