#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the library under a prefix of its own and builds programs against it, as others would:
# through the CMake package and through pkg-config, in C and in C++.
#   run.sh SOURCE_TREE BUILD_TREE static|shared
# static installs BUILD_TREE; shared configures and builds a shared library first.
set -euo pipefail
source_tree=$1
build_tree=$2
kind=$3
here=$source_tree/tests/consumer
trace=$source_tree/traces/tiny_12seg.pickle
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version=$(sed -nE 's/#define UL_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)/\2/p' \
  "$source_tree/include/ullage/version.h" | paste -sd.)
expect() {
  local what=$1 expected=$2 got
  shift 2
  got=$("$@")
  if [ "$got" != "$expected" ]; then
    printf '%s: expected\n%s\ngot\n%s\n' "$what" "$expected" "$got"
    exit 1
  fi
  echo "$what: ok"
}
c_output="$version
1024 of 2 MiB
snapshot"

if [ "$kind" = shared ]; then
  cmake -S "$source_tree" -B "$work/build" -G Ninja -DBUILD_SHARED_LIBS=ON -DUL_TESTS=OFF \
    -DCMAKE_C_FLAGS_RELWITHDEBINFO='-O0 -DNDEBUG' >"$work/log" 2>&1 &&
    cmake --build "$work/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  build_tree=$work/build
fi
# Installed to one place and moved to another: nothing may remember where it was built or put.
cmake --install "$build_tree" --prefix "$work/staged" >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/staged" "$work/prefix"
prefix=$work/prefix
if grep -rlE "$build_tree|$work/staged" "$prefix" --include='*.cmake' --include='*.pc'; then
  echo "installed files name the place they came from"
  exit 1
fi
(cd "$prefix/include/ullage" && ls) >"$work/installed"
(cd "$source_tree/include/ullage" && ls) | diff - "$work/installed"

libdir=$(dirname "$(find "$prefix" -name ullage.pc)")/..
if [ "$kind" = shared ]; then
  "$source_tree/scripts/check_symbols" "$libdir/libullage.so"
  export LD_LIBRARY_PATH=$libdir
fi

cmake -S "$here" -B "$work/package" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
  cmake --build "$work/package" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
expect "CMake package, C" "$c_output" "$work/package/consumer" "$trace"
expect "CMake package, C++" "$version snapshot" "$work/package/consumer_cpp" "$trace"

export PKG_CONFIG_PATH=$libdir/pkgconfig
flags=$(pkg-config --cflags --libs $([ "$kind" = static ] && echo --static) ullage)
# shellcheck disable=SC2086 # a list of options
cc -std=c17 -Wall -Werror -o "$work/by_pkg_config" "$here/consumer.c" $flags
expect "pkg-config, C" "$c_output" "$work/by_pkg_config" "$trace"
# shellcheck disable=SC2086
c++ -std=c++17 -Wall -Werror -o "$work/by_pkg_config_cpp" "$here/consumer.cpp" $flags
expect "pkg-config, C++" "$version snapshot" "$work/by_pkg_config_cpp" "$trace"
expect "pkg-config, version" "$version" pkg-config --modversion ullage
if [ -x "$prefix/bin/ullage" ]; then
  expect "installed program" "$("$build_tree/bin/ullage" version)" "$prefix/bin/ullage" version
fi
