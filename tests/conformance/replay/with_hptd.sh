#!/usr/bin/env bash
# Usage: with_hptd.sh HPTD COMMAND...
# Runs COMMAND with HPTD_TARGET set to a daemon of its own, on a Unix socket, which must then end cleanly.
# Exits as COMMAND does, or with 99 if the daemon fails.
set -euo pipefail

hptd=$1
shift
folder=$(mktemp -d)
daemon=
trap '[[ -z $daemon ]] || kill -KILL "$daemon" 2>/dev/null || true; rm -rf "$folder"' EXIT

mkfifo "$folder/output"
"$hptd" --listen= --metrics_listen= --unix_socket "$folder/socket" --log_level=warning \
  >"$folder/output" &
daemon=$!
ready=
while IFS= read -r line; do
  [[ $line != ready ]] || { ready=yes; break; }
done <"$folder/output"
[[ $ready ]] || { echo "hptd did not become ready" >&2; exit 99; }

result=0
HPTD_TARGET=unix:$folder/socket "$@" || result=$?

kill -TERM "$daemon"
wait "$daemon" || { echo "hptd ended with $?" >&2; exit 99; }
daemon=
exit "$result"
