#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: all of them in the release build, and those
# that are not slow under AddressSanitizer and ThreadSanitizer. The last lines are the summary of
# all of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'EOF'
Usage: tests/run.sh [--preset NAME]... [--label REGEX]
  --preset NAME   only this build: release, asan, tsan or dev; may be repeated (default: the first three)
  --label REGEX   only tests with such a label, for example style, bench, slow
EOF
}

say() { printf '\n== %s\n' "$*"; }

presets=()
select=()
while (($#)); do
  case $1 in
    --preset) presets+=("${2:?--preset needs a name}"); shift 2 ;;
    --label) select=(-L "${2:?--label needs a regular expression}"); shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
((${#presets[@]})) || presets=(release asan tsan)

say "packages of deploy/packages.txt"
deploy/install-packages.sh

for preset in "${presets[@]}"; do
  say "build, preset $preset"
  cmake --preset "$preset"
  cmake --build --preset "$preset" -- -j "$(nproc)"
done

# One run of ctest over all builds, so that there is one summary.
all=build/tests-run
mkdir -p "$all"
for preset in "${presets[@]}"; do
  printf 'subdirs("../%s")\n' "$preset"
done >"$all/CTestTestfile.cmake"

say "tests of ${presets[*]}"
ctest --test-dir "$all" --output-on-failure --no-tests=error -j "$(nproc)" "${select[@]}"
