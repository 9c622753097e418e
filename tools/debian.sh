# shellcheck shell=bash
# To be sourced after packages.sh: a Debian of another suite in a folder, as root,
# for scripts that need what this one has not.

# What Tally is built from, and its tests.
debian_libraries=(libabsl-dev libbenchmark-dev libgmock-dev libgtest-dev libhwy-dev
  libxxhash-dev nlohmann-json3-dev)

# make_debian FOLDER SUITE PACKAGE...: a Debian with these packages, whatever of it
# is there already.
make_debian() {
  local folder=$1 suite=$2
  shift 2
  if [[ ! -e $folder ]]; then
    (
      needed_packages() { echo debootstrap /usr/sbin/debootstrap; }
      install_packages
    )
    rm -rf "$folder.part"
    debootstrap --variant=minbase "$suite" "$folder.part" http://deb.debian.org/debian
    mv "$folder.part" "$folder"
  fi
  chroot "$folder" dpkg-query -W "$@" >/dev/null 2>&1 && return
  # Java's packages read /proc while they are installed.
  # shellcheck disable=SC2016  # the inner shell's
  unshare --mount bash -euc '
    mount -t proc proc "$1/proc"
    # A mirror may be weeks behind.
    chroot "$1" apt-get update -qq -o Acquire::Check-Valid-Until=false
    DEBIAN_FRONTEND=noninteractive chroot "$1" apt-get install -y -qq \
      --no-install-recommends "${@:2}"' - "$folder" "$@"
}

# in_debian FOLDER [HERE:THERE...] -- COMMAND...: runs a command there, which sees the
# folders HERE as THERE, and cannot write to them.
in_debian() {
  # The mounts end with the shell.
  # shellcheck disable=SC2016  # the inner shell's
  unshare --mount bash -euc '
    folder=$1
    mount -t proc proc "$folder/proc"
    mount --rbind /dev "$folder/dev"
    while shift && [[ $1 != -- ]]; do
      mkdir -p "$folder${1#*:}"
      mount --bind -o ro "${1%%:*}" "$folder${1#*:}"
    done
    shift
    exec chroot "$folder" "$@"' - "$@"
}
