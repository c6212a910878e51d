#!/usr/bin/env bash
# Who may know whom: the lower floors never include the upper ones, and CMake links the same way.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Folder, what it may include in quotes, what it may link of ours.
rules() {
  cat <<'EOF'
mmu     absl|mmu                           mmu
hcall   absl|mmu|hcall                     mmu|hcall
server  absl|mmu|hcall|server|papr/mmu/v1  mmu|hcall|proto|server
client  absl|mmu|hcall|client|papr/mmu/v1  mmu|hcall|proto|client
EOF
}

# Libraries that the two lower floors do without.
upper_libraries='grpc|grpcpp|google|prometheus|spdlog|nlohmann|CLI|zstd'

while read -r folder may_include may_link; do
  while IFS= read -r line; do
    wrong "$folder/ may not include that: $line"
  done < <(tracked "$folder/*.h" "$folder/*.cc" |
    xargs -r grep -nE '^ *# *include *"' /dev/null | grep -vE "include *\"($may_include)/")
  while IFS= read -r line; do
    wrong "$folder/ may not link that: $line"
  done < <(tracked "$folder/*CMakeLists.txt" |
    xargs -r grep -noE 'papr::[a-z_]+' /dev/null | grep -vE "papr::($may_link)\$")
done < <(rules)

while IFS= read -r line; do
  wrong "mmu/ and hcall/ use the standard library and Abseil only: $line"
done < <(tracked 'mmu/*.h' 'mmu/*.cc' 'hcall/*.h' 'hcall/*.cc' |
  xargs -r grep -nE "^ *# *include *[<\"]($upper_libraries)(/|\\.h|>)" /dev/null)

finish
