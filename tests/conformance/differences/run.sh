#!/usr/bin/env bash
# Runs the vectors on a live QEMU and makes hcall/DIFFERENCES.md of that run and of hptd's own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

usage() {
  cat <<'USAGE'
Usage: tests/conformance/differences/run.sh [--build DIR] [--refresh | --check] [--qemu-run FILE]
  --build DIR      where hptctl, qemu_adapter and differences are (default: build/release)
  --refresh        write hcall/DIFFERENCES.md
  --check          fail if it is not what would be written (the default)
  --qemu-run FILE  only run the vectors on QEMU, into FILE; with --refresh or --check: take FILE instead
USAGE
}

build=build/release
action=
run=
while (($#)); do
  case $1 in
    --build) build=${2:?--build needs a folder}; shift 2 ;;
    --refresh | --check) action=$1; shift ;;
    --qemu-run) run=${2:?--qemu-run needs a file}; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
[[ -z $action && -z $run ]] && action=--check

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

run_on_qemu() {
  if ! "$build/bin/hptctl" conformance --adapter "$build/tests/qemu_adapter" --json >"$1"; then
    jq -r '.runs[].cases[] | select(.outcome == "failed")
           | "\(.file):\(.line): \(.case)", (.failures[] | "  line \(.line): \(.message)")' "$1"
    return 1
  fi
  jq -r '.target as $t | .runs[] | "\($t): \(.passed) cases passed, \(.skipped) skipped",
         (.defects[] | "  known defect \(.name) in \(.answers) answers")' "$1"
}

if [[ -z $action ]]; then
  run_on_qemu "$run"
  exit
fi
if [[ -z $run ]]; then
  run=$temporary/qemu.json
  run_on_qemu "$run"
fi
"$build/tests/differences" "$run" >"$temporary/DIFFERENCES.md"
if [[ $action == --refresh ]]; then
  cp "$temporary/DIFFERENCES.md" hcall/DIFFERENCES.md
elif ! diff -u hcall/DIFFERENCES.md "$temporary/DIFFERENCES.md"; then
  echo "hcall/DIFFERENCES.md is stale: tests/conformance/differences/run.sh --refresh" >&2
  exit 1
fi
