#!/usr/bin/env bash
# The house has the rooms that it is meant to have, each opens with a README.md, and no file of the
# program has grown into two things.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

folders='client|deploy|hcall|mmu|proto|server|tests'
files='CMakeLists\.txt|CMakePresets\.json|LICENSE|README\.md|\..*'
longest_file_lines=500

while IFS= read -r name; do
  [[ $name =~ ^($folders|$files)$ ]] || wrong "does not belong at the top: $name"
done < <(tracked | cut -d / -f 1 | sort -u)

for folder in ${folders//|/ }; do
  [[ -f $folder/README.md ]] || wrong "has no README.md: $folder"
done

while IFS= read -r file; do
  lines=$(wc -l <"$file")
  ((lines <= longest_file_lines)) || wrong "is two things: $file ($lines lines)"
done < <(tracked 'mmu/*.h' 'mmu/*.cc' 'hcall/*.h' 'hcall/*.cc' 'server/*.h' 'server/*.cc' \
  'client/*.h' 'client/*.cc')

finish
