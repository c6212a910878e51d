#!/usr/bin/env bash
# Mutation check of the engine: faults put into hcall/ and mmu/ one at a time, each of which a test
# must notice. By hand; some ten minutes. tests/mutation/README.md tells more.
#
# tests/mutation.sh [--list] [--count N] [--all] [--seed S] [--only REGEX] [--jobs N] [--build DIR]
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/mutation/run.py" "$@"
