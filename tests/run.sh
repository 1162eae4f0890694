#!/bin/sh
# Builds everything and runs all tests: `sh tests/run.sh [--long]`. Installs what is missing first (root or sudo).
# The last line is ctest's total; the sanitizer builds' runs are tests among the others. Exit status 0 only if all pass.
# COLL_SHARED_DATA names the folder of foreign plans and machine descriptions (default: ../shared/data); without it the
# tests that read them are skipped and say so.
set -eu
cd "$(dirname "$0")/.."
long=no
case "${1:-}" in
  --long) long=yes ;;
  "") ;;
  *) echo "usage: sh tests/run.sh [--long]" >&2; exit 2 ;;
esac

. cmake/packages.sh
# shellcheck disable=SC2154,SC2086
need_packages $build_packages $test_packages

COLL_SHARED_DATA=${COLL_SHARED_DATA:-$(pwd)/../shared/data}
export COLL_SHARED_DATA
[ -d "$COLL_SHARED_DATA" ] || echo "collc: no $COLL_SHARED_DATA: the tests that read shared data will be skipped"

cmake --preset ci
cmake --build build/release
sh tests/sanitized.sh --build-only asan
sh tests/sanitized.sh --build-only tsan

if [ $long = yes ]; then preset=long; else preset=ci; fi
log=build/release/ctest.log
status=build/release/ctest.status
# A pipe hides the status of its left side from a POSIX shell, so it goes through a file.
{ ctest --preset $preset && echo 0 >$status || echo 1 >$status; } 2>&1 | tee $log
grep 'tests passed' $log | tail -n 1 || echo "collc: ctest printed no summary"
exit "$(cat $status)"
