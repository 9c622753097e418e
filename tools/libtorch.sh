# shellcheck shell=bash
# To be sourced: the LibTorch that the tools take. Sets $libtorch_versions (an array
# by the names of port/libtorch_versions.txt); needs $cache for what it fetches.
libtorch_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

declare -A libtorch_versions=()
while read -r libtorch_key libtorch_value; do
  [[ -z $libtorch_key || $libtorch_key == '#'* ]] ||
    libtorch_versions[$libtorch_key]=$libtorch_value
done <"$libtorch_root/port/libtorch_versions.txt"

# cached_libtorch [VERSION [MACHINE]]: prints where one lies that was fetched; that of
# this machine has no machine in its name.
cached_libtorch() {
  local machine=${2:-$(uname -m)} suffix=
  [[ $machine == "$(uname -m)" ]] || suffix=-$machine
  printf '%s\n' "${cache:-${TALLY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tally}}/libtorch-${1:-${libtorch_versions[default]}}-cpu$suffix"
}

# pinned_libtorch MINOR: prints the whole version of which there are pins.
pinned_libtorch() {
  local pins
  for pins in "$libtorch_root/tools/libtorch/$1".*txt; do
    [[ ! -e $pins ]] || basename "$pins" .txt
  done
}

# libtorch_standard FOLDER: prints the option for the C++ that its headers need.
libtorch_standard() {
  python3 - "$libtorch_root" "$1" <<'PYTHON'
import pathlib, runpy, sys
root, folder = map(pathlib.Path, sys.argv[1:])
rules = runpy.run_path(str(root / "third_party/libtorch_versions.bzl"))
versions = rules["parse_versions"]((root / "port/libtorch_versions.txt").read_text())
header = folder / "include/torch/headeronly/version.h"
print(rules["standard_of"](rules["version_in"](header.read_text()), versions))
PYTHON
}

# Prints where an importable torch of a version that Tally takes lies.
importable_torch() {
  type -P python3 >/dev/null || return 1
  python3 - "$libtorch_root" <<'PYTHON' 2>/dev/null
import importlib.metadata, importlib.util, os, pathlib, runpy, sys
root = pathlib.Path(sys.argv[1])
rules = runpy.run_path(str(root / "third_party/libtorch_versions.bzl"))
versions = rules["parse_versions"]((root / "port/libtorch_versions.txt").read_text())
if not rules["is_supported"](importlib.metadata.version("torch"), versions):
    sys.exit(1)
print(os.path.dirname(importlib.util.find_spec("torch").origin))
PYTHON
}

# fetch_libtorch VERSION [MACHINE]: downloads it by the pins of tools/libtorch, for this
# machine unless another is named. The finished tree is moved into place in one step,
# so what is there is complete, whatever happened to earlier attempts. Needs say and
# die.
fetch_libtorch() {
  local version=$1 machine=${2:-$(uname -m)} pins=$libtorch_root/tools/libtorch/$1.txt
  local target megabytes=
  target=$(cached_libtorch "$version" "$machine")
  [[ -e $pins ]] || die "there are no pins for LibTorch $version in tools/libtorch"
  [[ $(uname -s) != Linux ]] || megabytes=$(sed -n "s/^# $machine: \([0-9]*\) MB$/\1/p" "$pins")
  [[ -n $megabytes ]] ||
    die "LibTorch $version is not pinned for $(uname -s) $machine; set LIBTORCH to one of yours, ${libtorch_versions[oldest]} to ${libtorch_versions[newest]}"
  rm -rf "$cache"/libtorch.*
  local work pid
  work=$(mktemp -d "$cache/libtorch.XXXXXX")
  # shellcheck disable=SC2064  # $work is meant as it is now
  trap "kill \$(jobs -p) 2>/dev/null || :; rm -rf '$work'" EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM

  local python=(python3)
  if ! python3 -m pip --version >/dev/null 2>&1; then
    say "LibTorch 1/3: preparing pip"
    python3 -m venv "$work/venv" 9>&-
    python=("$work/venv/bin/python")
  fi

  local platforms=() platform
  for platform in manylinux_2_28 manylinux_2_25 manylinux_2_17 manylinux2014; do
    platforms+=(--platform "${platform}_$machine")
  done
  say "LibTorch 2/3: downloading $version for $machine ($megabytes MB) to $cache, once for all clones"
  mkdir "$work/wheels" "$work/tmp"
  TMPDIR=$work/tmp "${python[@]}" -m pip download --quiet --no-cache-dir \
    --disable-pip-version-check --no-deps --only-binary=:all: \
    --implementation cp --python-version 3.11 --abi cp311 \
    "${platforms[@]}" --require-hashes -r "$pins" -d "$work/wheels" \
    >&2 9>&- &
  pid=$!
  local seconds=0 size
  while kill -0 "$pid" 2>/dev/null; do
    sleep 1 9>&-
    if ((++seconds % 5 == 0)); then
      read -r size _ < <(du -sm "$work/wheels" "$work/tmp" -c | tail -n 1)
      say "LibTorch 2/3: $size of $megabytes MB"
    fi
  done
  wait "$pid" || die "the download failed; start again to retry"

  say "LibTorch 3/3: unpacking"
  python3 "$libtorch_root/tools/unpack_libtorch.py" "$work/tree" "$work"/wheels/*.whl 9>&-
  mv -T "$work/tree" "$target"
  rm -rf "$work"
  trap - EXIT
}
