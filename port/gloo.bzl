"""Where port/gloo.cc finds <gloo/...>."""

# Not `includes` of a library: a program's own Gloo stays in its place.
GLOO_COPTS = ["-isystem", "/".join([
    part
    for part in [Label("//port:gloo.bzl").workspace_root, "port/gloo"]
    if part
])]
