#!/usr/bin/env bash
# clang_tidy.sh BUILD: clang-tidy, as .clang-tidy sets it, finds nothing in the folders of the
# program. BUILD is a finished build. A file is looked at again only when it, a header of ours that
# it includes, its command line or .clang-tidy has changed.
export build
build=$(realpath "$1")
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export clean=build/tools/clang-tidy
mkdir -p "$clean"

# fingerprint FILE: names all that clang-tidy's verdict on FILE depends on.
fingerprint() {
  local command object
  command=$(jq -r --arg file "$PWD/$1" '.[] | select(.file == $file) | .command' \
    "$build/compile_commands.json")
  object=$(sed -nE 's/.* -o ([^ ]+) .*/\1/p' <<<"$command")
  {
    clang-tidy --version
    cat .clang-tidy "$1"
    printf '%s\n' "$command"
    # The object's headers as ninja noted them, without those of the system.
    ninja -C "$build" -t deps "$object" | sed -n 's/^ \+//p' | grep -v '^/usr/' | sort -u |
      (cd "$build" && xargs -r sha256sum)
  } | sha256sum | cut -d ' ' -f 1
}

check() {
  local stamp findings
  stamp=$clean/$(fingerprint "$1")
  [[ -e $stamp ]] && return
  if findings=$(clang-tidy --quiet -p "$build" "$1" 2>&1); then
    touch "$stamp"
  else
    printf '%s\n' "$findings"
    return 1
  fi
}
export -f fingerprint check

# shellcheck disable=SC2016  # for the inner shell to expand
tracked '*.cc' | grep -E '^(mmu|hcall|server|client)/' |
  xargs -P "$(nproc)" -I{} bash -c 'check "$1"' check {}
