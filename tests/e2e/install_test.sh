#!/bin/sh
# install_test.sh SOURCE BUILD: installs BUILD into a fresh prefix, builds examples/embed against that prefix alone, runs it.
set -eu
source=$1
build=$2
scratch=$build/install_test
rm -rf "$scratch"
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch.log" 2>&1 || { cat "$scratch.log"; exit 1; }

# A user's tree: the example's files, copied where no header of ours can be found by accident.
cp -R "$source/examples/embed" "$scratch/user"
cmake -S "$scratch/user" -B "$scratch/user-build" -G Ninja -D CMAKE_BUILD_TYPE=Release \
  -D CMAKE_PREFIX_PATH="$scratch/prefix"
cmake --build "$scratch/user-build"
(cd "$scratch" && user-build/embed && user-build/run_plan star.plan)
# Its promise: a program that only runs plans carries no compiler.
if nm -C "$scratch/user-build/run_plan" | grep -q ' coll::elaborate('; then
  echo "run_plan links the compiler"
  exit 1
fi
nm -C "$scratch/user-build/embed" | grep -q ' coll::elaborate('

# The installed program carries its library of algorithms with it: it runs far from the tree.
(cd "$scratch" && prefix/bin/collc run lib:ring --ranks 2 --size 4K)
