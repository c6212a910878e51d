#!/usr/bin/env bash
# run.sh NAME...: builds and runs the benchmark NAME_bench and prints one line a figure, "name value
# bar ok|MISS". A run that misses a bar is followed by two more, and a bar then holds if it held in
# two of the three. The raw results are in build/bench/. Exits 1 on a MISS. See README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=build/release
out=build/bench

if (($# == 0)); then
  echo "Usage: tests/bench/run.sh NAME..., of: $(
    find tests/bench -name '*_bench.cc' -printf '%f\n' | sed 's/_bench\.cc//' | sort | paste -sd ' '
  )" >&2
  exit 2
fi

# figures FILE...: "name value bar verdict" of each figure, from the results of one or three runs.
figures() {
  jq -rs '
    def holds: if .bar_at_least then .value >= .bar_at_least else .value <= .bar_at_most end;
    def bar: if .bar_at_least then ">=\(.bar_at_least)" else "<=\(.bar_at_most)" end;
    map(.benchmarks[]) | group_by(.name)[] |
    (map(select(holds)) | length) as $held | sort_by(.value) | .[(length - 1) / 2 | floor] |
    [(.name | sub("/iterations:1$"; "")), (.value * 1000 | round / 1000), bar,
     if .bar_at_least == null and .bar_at_most == null then "ok"
     elif $held * 2 > $runs then "ok" else "MISS" end] | join(" ")' \
    --argjson runs $# "$@"
}

run() { "$build/tests/$1_bench" --benchmark_out="$2" --benchmark_out_format=json >"$2.log" 2>&1; }

mkdir -p "$out"
cmake --preset release >"$out/cmake.log"
for name in "$@"; do
  cmake --build --preset release --target "${name}_bench" >"$out/build.log" ||
    { cat "$out/build.log"; exit 1; }
done

missed=0
for name in "$@"; do
  results=("$out/$name.json")
  run "$name" "${results[0]}" || { cat "${results[0]}.log"; exit 1; }
  if figures "${results[@]}" | grep -q 'MISS$'; then
    for again in 2 3; do
      results+=("$out/$name.$again.json")
      run "$name" "$out/$name.$again.json"
    done
  fi
  figures "${results[@]}" | tee "$out/$name.txt"
  ! grep -q 'MISS$' "$out/$name.txt" || missed=1
done
exit "$missed"
