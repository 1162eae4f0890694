#!/bin/sh
# From a bare Debian 12 to a checked, measured all-reduce: installs what is missing, builds, runs the ring on 8 ranks.
# Run it as root or where sudo works; once the packages are there it needs neither, nor a network.
set -eu
cd "$(dirname "$0")/.."
. cmake/packages.sh
# shellcheck disable=SC2154,SC2086
need_packages $build_packages

# The tests have more needs than the program; leave them out unless this folder is configured already.
if [ ! -f build/release/CMakeCache.txt ]; then
  cmake --preset release -D COLLC_TESTS=OFF -D COLLC_BENCH=OFF
fi
cmake --build build/release --target collc

echo "+ build/release/frontend/collc run examples/ring.coll --ranks 8 --sizes 1K..64M"
exec build/release/frontend/collc run examples/ring.coll --ranks 8 --sizes 1K..64M
