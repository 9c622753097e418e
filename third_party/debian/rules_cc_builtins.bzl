"""Bazel's own, under names that modules of the usual ones can load.

A module that defines cc_common cannot also mean Bazel's.
"""

builtin_cc_common = cc_common
builtin_cc_info = CcInfo
