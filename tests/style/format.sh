#!/usr/bin/env bash
# C++ is formatted as .clang-format says, which "clang-format -i FILE" does.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mapfile -t files < <(tracked '*.h' '*.cc')
clang-format --dry-run -Werror "${files[@]}"
