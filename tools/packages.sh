# shellcheck shell=bash
# Debian packages, for scripts beside this one to source. They have say(), die()
# and needed_packages(), which prints lines "PACKAGE PROBE": the probe is a file
# (or a pattern) or a command that shows that the package is there. Files rather
# than dpkg's records: other ways of installing serve as well.

missing_packages() {
  local package probe
  needed_packages | while read -r package probe; do
    case $probe in
      /*) compgen -G "$probe" >/dev/null || printf '%s\n' "$package" ;;
      *) type -P "$probe" >/dev/null || printf '%s\n' "$package" ;;
    esac
  done
}

# Descriptor 9 is closed for what is started here: it may hold a lock.
install_packages() {
  local missing sudo=()
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} > 0)) || return 0
  local install=(apt-get install -y --no-install-recommends "${missing[@]}")
  if ! type -P apt-get >/dev/null; then
    die "install these first (Debian's names): ${missing[*]}"
  fi
  if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null && ! { type -P sudo && [[ -t 0 ]]; } >/dev/null
    then
      say "some Debian packages are missing and may not be installed from here."
      say "As root, run this and start again:"
      printf '  apt-get update && %s\n' "${install[*]}" >&2
      exit 1
    fi
    sudo=(sudo)
  fi
  say "installing Debian packages: ${missing[*]}"
  local env=(env DEBIAN_FRONTEND=noninteractive) quiet=(-qq -o DPkg::Lock::Timeout=600)
  "${sudo[@]}" "${env[@]}" apt-get "${quiet[@]}" update >&2 9>&-
  "${sudo[@]}" "${env[@]}" "${install[@]}" "${quiet[@]}" >&2 9>&-
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) || die "installed, yet not found: ${missing[*]}"
}
