# Sourced by the checks of this folder: goes to the top of the repository, lists its files, and
# counts what is wrong.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# tracked PATTERN...: the files of the repository, as git knows them.
tracked() { git -c safe.directory="$PWD" ls-files -- "$@"; }

failures=0
# wrong TEXT...: says what is wrong; finish then fails.
wrong() {
  printf '%s\n' "$*"
  failures=$((failures + 1))
}

finish() {
  if ((failures)); then
    printf '%d found\n' "$failures"
    exit 1
  fi
}
