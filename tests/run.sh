#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: all of them in the release build, and those
# that are not slow under AddressSanitizer and ThreadSanitizer. The last lines are the summary of
# all of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'EOF'
Usage: tests/run.sh [--preset NAME]... [--label REGEX] [--no-qemu]
  --preset NAME   only this build: release, asan, tsan or dev; may be repeated (default: the first three)
  --label REGEX   only tests with such a label, for example style, bench, slow, qemu
  --no-qemu       do without QEMU: neither install it nor compare with it
EOF
}

say() { printf '\n== %s\n' "$*"; }

presets=()
select=()
qemu=ON
without=()
while (($#)); do
  case $1 in
    --preset) presets+=("${2:?--preset needs a name}"); shift 2 ;;
    --label) select=(-L "${2:?--label needs a regular expression}"); shift 2 ;;
    --no-qemu)
      qemu=OFF
      without=(--without qemu-system-ppc --without binutils-powerpc64-linux-gnu)
      shift
      ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
((${#presets[@]})) || presets=(release asan tsan)

say "packages of deploy/packages.txt"
if ! deploy/install-packages.sh "${without[@]}"; then
  echo "tests/run.sh: not all packages could be installed, see above. If it is only QEMU that cannot" \
    "be had here, --no-qemu tests without it." >&2
  exit 1
fi

for preset in "${presets[@]}"; do
  say "build, preset $preset"
  cmake --preset "$preset" -DHPTD_TEST_QEMU="$qemu"
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
