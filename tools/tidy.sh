#!/bin/sh
# clang-tidy on the .cpp files that changed since TIDY_BASE (by default in the last commit; TIDY_BASE=origin/main for a
# whole branch). Needs build/fuzz/compile_commands.json (cmake --preset fuzz).
set -eu
cd "$(dirname "$0")/.."

base=${TIDY_BASE:-$(git rev-parse -q --verify HEAD~1 || git rev-parse HEAD)}
files=$(git diff --name-only --diff-filter=d "$base" -- 'ullage/*.cpp' 'cli/*.cpp' 'fuzz/*.cpp')
count=$(echo "$files" | grep -c . || true)
echo "clang-tidy on $count changed files"
[ "$count" = 0 ] || echo "$files" | xargs -n 1 -P "${JOBS:-$(nproc)}" clang-tidy-19 -p build/fuzz --quiet
