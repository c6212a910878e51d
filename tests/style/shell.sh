#!/usr/bin/env bash
# No shell script has anything that shellcheck warns of.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mapfile -t scripts < <(tracked '*.sh' .ci/run)
shellcheck --external-sources --source-path=SCRIPTDIR "${scripts[@]}"
