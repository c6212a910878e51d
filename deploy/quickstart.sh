#!/usr/bin/env bash
# From nothing to results: installs what is missing, builds, starts hptd, replays the hypercalls of a
# booting Linux guest against it over gRPC, runs a small experiment, shows the metrics, and stops
# everything again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

trace=tests/conformance/traces/boot-6.1-64k.trace.zst
bin=build/release/bin
work=$(mktemp -d)
hptd=

step() { printf '\n[%s/6] %s\n' "$1" "$2"; }

stop() {
  if [[ -n $hptd ]]; then
    kill "$hptd" 2>/dev/null || true
    wait "$hptd" 2>/dev/null || true
    hptd=
  fi
}
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# address KIND: where hptd listens, as it printed it.
address() { sed -n "s/^listening $1 //p" "$work/out"; }

step 1 "Installing the packages that are missing (deploy/packages.txt)"
deploy/install-packages.sh

step 2 "Building hptd and hptctl (build/release)"
cmake --preset release >"$work/cmake" || { cat "$work/cmake"; exit 1; }
cmake --build --preset release --target hptd hptctl -- -j "$(nproc)"

step 3 "Starting hptd on free ports of this machine"
"$bin/hptd" --listen=127.0.0.1:0 --metrics_listen=127.0.0.1:0 >"$work/out" 2>"$work/log" &
hptd=$!
until grep -qxs ready "$work/out"; do
  kill -0 "$hptd" 2>/dev/null || { hptd=; echo "hptd did not start:"; cat "$work/log"; exit 1; }
  sleep 0.05
done
export HPTD_TARGET
HPTD_TARGET=$(address grpc)
metrics=$(address metrics)
echo "gRPC on $HPTD_TARGET, health: $("$bin/hptctl" health)"

step 4 "Replaying what a Linux 6.1 kernel asked of its hypervisor while booting ($trace)"
"$bin/hptctl" replay "$trace"

step 5 "Experiment: unmapping 128 MB with slots remembered, searched for, and found by hash"
"$bin/hptctl" experiment slot-tracking --mode all --iterations 3 --megabytes 128

step 6 "Metrics, as Prometheus reads them: $metrics"
curl -fsS "$metrics" >"$work/metrics"
grep -E '^(hptd_build_info|hptd_frame_hcalls_(sum|count)|grpc_server_handled_total.*Hcall)' \
  "$work/metrics" | grep -v ' 0$'

stop
printf '\nhptd has stopped; nothing is left running. README.md says what to try next.\n'
