#!/usr/bin/env bash
# Every header has the guard that its path gives: mmu/hpte.h has MMU_HPTE_H_.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

while IFS= read -r header; do
  guard=$(tr 'a-z/.-' 'A-Z___' <<<"$header")_
  if ! grep -qx "#ifndef $guard" "$header" || ! grep -qx "#define $guard" "$header" ||
    [[ $(tail -n 1 "$header") != "#endif  // $guard" ]]; then
    wrong "$header: the guard is not $guard"
  fi
done < <(tracked '*.h')

finish
