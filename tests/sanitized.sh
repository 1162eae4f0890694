#!/bin/sh
# Builds a sanitizer preset's test programs and fuzzers and runs them: `sh tests/sanitized.sh [--build-only] asan|tsan`.
# Which programs belong to a preset stands in CMakePresets.json (the build preset's targets). They run whole rather than
# through the preset's own ctest: one start per program instead of one per test, which is ten times quicker here.
set -eu
cd "$(dirname "$0")/.."
run=yes
if [ "${1:-}" = --build-only ]; then run=no; shift; fi
preset=${1:?usage: sh tests/sanitized.sh [--build-only] asan|tsan}

[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset"
cmake --build --preset "$preset"
[ $run = yes ] || exit 0

# The thread sanitizer of g++ 12 cannot map its shadow where the kernel randomises addresses by more than 28 bits.
fixed_addresses=
if [ "$preset" = tsan ] && setarch -R true 2>/dev/null; then fixed_addresses="setarch -R"; fi

export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
failed=0
ran=0
for program in "build/$preset/tests"/*/*_tests; do
  [ -x "$program" ] || continue
  ran=$((ran + 1))
  # shellcheck disable=SC2086
  $fixed_addresses "$program" --gtest_brief=1 || { echo "FAILED under $preset: $program"; failed=1; }
done
if [ -x "build/$preset/tests/fuzz/plan_reader_fuzz" ]; then
  ran=$((ran + 1))
  ctest --test-dir "build/$preset" -L fuzz --output-on-failure || failed=1
fi
[ $ran -gt 0 ] || { echo "no test program was built for $preset"; exit 1; }
exit $failed
