#!/bin/sh
# Runs every fuzzer on its stored corpus: FUZZ_SECONDS each (60), FUZZ_JOBS at a time (2). An input that breaks one is
# left in build/fuzz/found, and so is what widens coverage: copy what is worth keeping to fuzz/corpus/NAME.
set -eu
cd "$(dirname "$0")/.."

run_one() {
  fuzzer=$1
  name=$(basename "$fuzzer" _fuzz)
  found=build/fuzz/found/$name
  mkdir -p "$found/new" "fuzz/corpus/$name"
  # A reader may hold its input and what it has parsed; nothing near a gigabyte, and no single big allocation.
  if "$fuzzer" "$found/new" "fuzz/corpus/$name" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=1024 \
    -malloc_limit_mb=256 -artifact_prefix="$found/" -print_final_stats=1 >"$found/log" 2>&1; then
    echo "$name: $(grep -o 'number_of_executed_units.*' "$found/log") inputs, nothing found"
  else
    tail -n 60 "$found/log"
    echo "$name: FAILED, see $found"
    return 1
  fi
}

if [ "${1:-}" = --one ]; then
  run_one "$2"
else
  find build/fuzz/fuzzers -name '*_fuzz' | sort | xargs -r -n 1 -P "${FUZZ_JOBS:-2}" "$0" --one
fi
