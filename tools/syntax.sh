# shellcheck shell=bash
# To be sourced in the root, after libtorch.sh: compiles sources by syntax, without
# Bazel, with the warnings of tools/copts.bzl.

# Prints the sources of the libraries and the program. NCCL's needs CUDA's headers.
library_sources() {
  git ls-files -- '*.cc' ':!tests' ':!examples' ':!benchmarks' ':!tools' ':!sync/nccl.cc'
}

# What includes LibTorch's inner parts, or our names for them, as one source. That
# it has no two names alike is luck, and fails loudly.
inner_parts() {
  git grep -lE '^#include ("tally/port/|<torch/csrc/)' -- '*.h' '*.cc' \
    ':!tests' ':!benchmarks' ':!examples' ':!tools' ':!*nccl*' |
    sed 's|.*|#include "tally/&"|'
}

# syntax_options LIBTORCH FOLDER: prints options, one a line. The folder is for what
# they refer to.
syntax_options() {
  mkdir -p "$2/include"
  ln -sfn "$PWD" "$2/include/tally"
  libtorch_standard "$1"
  sed -n 's/^    "\(-W.*\)",$/\1/p' tools/copts.bzl
  printf '%s\n' -Werror -O1 -DUSE_DISTRIBUTED "-I$2/include" "-I$PWD" \
    -isystem "$PWD/port/gloo" -isystem "$1/include" \
    -isystem "$1/include/torch/csrc/api/include"
}

# join_sources FOLDER SOURCE...: joins sources of a folder, as tools/tally.bzl does;
# those that Highway compiles several times stay alone. Writes what it joins to
# FOLDER, and prints what to compile.
join_sources() {
  local out=$1 source unit
  local -A joined=() units=()
  shift
  for source; do
    if grep -q '^#define HWY_TARGET_INCLUDE' "$source"; then
      units[$PWD/$source]=1
      continue
    fi
    unit=$(dirname "$source" | tr / _)
    unit+=_$((joined[$unit]++ / 8))
    units[$out/$unit.cc]=1
    printf '#line 1 "%s"\n' "$source" >>"$out/$unit.cc"
    cat "$source" >>"$out/$unit.cc"
  done
  ((${#units[@]} == 0)) || printf '%s\n' "${!units[@]}" | sort
}

# compile_syntax COMPILER OPTION...: compiles each source whose name is a line of the
# input, $JOBS at once, and prints what the compiler says. Fails if one fails.
compile_syntax() {
  # shellcheck disable=SC2016  # the inner shell's
  xargs -d '\n' -P "${JOBS:-$(nproc)}" -I{} bash -c '
    status=0
    said=$("$@" -fsyntax-only "$0" 2>&1) || status=1
    ((status == 0)) || said+="
failed: $0"
    [[ -z $said ]] || printf "%s\n" "$said"
    exit "$status"' {} "$@"
}

# precompile HEADER COMPILER OPTION... FOLDER: compiles a header into a folder, and
# prints the options that sources of these options begin with it by, one a line.
precompile() {
  local header=$1 folder=${!#}
  set -- "${@:2:$#-2}"
  cp "$header" "$folder/pch.h"
  if [[ $1 == clang* ]]; then
    "$@" -x c++-header "$folder/pch.h" -o "$folder/pch.h.pch" &&
      printf '%s\n' -include-pch "$folder/pch.h.pch"
  else
    "$@" -x c++-header "$folder/pch.h" -o "$folder/pch.h.gch" &&
      printf '%s\n' -Winvalid-pch -include "$folder/pch.h"
  fi
}
