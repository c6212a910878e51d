#!/usr/bin/env bash
# The wire contract follows the STANDARD rules of buf, see proto/buf.yaml.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

buf=$(tests/style/install_buf.sh)
"$buf" lint proto
