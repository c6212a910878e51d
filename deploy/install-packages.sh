#!/usr/bin/env bash
# install-packages.sh [--without PACKAGE]...: installs those packages of deploy/packages.txt that are
# missing. With none missing it returns at once and asks no package mirror.
set -euo pipefail
list=$(dirname "${BASH_SOURCE[0]}")/packages.txt

declare -A without=()
while (($#)); do
  [[ $1 == --without && $# -ge 2 ]] || { sed -n 's/^# \(install-packages.sh .*\):.*/Usage: \1/p' "$0" >&2; exit 2; }
  without[$2]=yes
  shift 2
done

say() { printf 'install-packages: %s\n' "$*"; }

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  say "this is not Debian: install what $list names by other means" >&2
  exit 1
fi

installed() { [[ $(dpkg-query -W -f='${Status}' "$1" 2>/dev/null) == 'install ok installed' ]]; }

missing=()
while read -r package condition command; do
  [[ -z $package || $package == '#'* ]] && continue
  [[ $condition == unless ]] && command -v "$command" >/dev/null && continue
  [[ ${without[$package]-} ]] && continue
  installed "$package" || missing+=("$package")
done <"$list"

if ((${#missing[@]} == 0)); then
  say "nothing is missing"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    say "not root, and there is no sudo. As root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

say "installing ${#missing[@]} packages: ${missing[*]}"
apt=(apt-get -q -o DPkg::Lock::Timeout=300)
"${as_root[@]}" "${apt[@]}" update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y \
  --no-install-recommends "${missing[@]}" </dev/null
