#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the oracle for one PyTorch release: its allocator libraries on a pretend CUDA runtime.
#   build.sh VERSION [WHEEL]
# Fetches the wheel and the CUDA headers from PyPI where they are missing (0.5 to 1 GB, once; the
# wheel is deleted after unpacking unless KEEP=1). Everything lands in $ORACLE/VERSION, by default
# ~/.cache/ullage-oracle/VERSION.
set -euo pipefail
version=$1
here=$(cd "$(dirname "$0")" && pwd)
oracle=${ORACLE:-$HOME/.cache/ullage-oracle}
wheels=${WHEELS:-$oracle/wheels}
cuda=${CUDA_INC:-$oracle/dl/x/nvidia/cuda_runtime/include}
torch=$oracle/$version/torch
fake=$oracle/$version/fake
pip=$(command -v pip3 || command -v pip || true)

mkdir -p "$fake" "$wheels" "$oracle/dl"
if [ ! -d "$cuda" ]; then
  "${pip:?pip is missing}" download -q --no-deps -d "$oracle/dl" \
    nvidia-cuda-runtime-cu12==12.8.90 nvidia-cuda-nvcc-cu12==12.8.93
  for wheel in "$oracle"/dl/*.whl; do
    unzip -q -o "$wheel" 'nvidia/*/include/*' -d "$oracle/dl/x"
  done
  rm -f "$oracle"/dl/*.whl
fi
if [ ! -e "$torch/lib/libc10_cuda.so" ]; then
  wheel=${2:-$(find "$wheels" -name "torch-$version-*.whl" | head -n 1)}
  if [ -z "$wheel" ]; then
    "${pip:?pip is missing}" download -q --no-deps -d "$wheels" "torch==$version"
    wheel=$(find "$wheels" -name "torch-$version-*.whl" | head -n 1)
  fi
  # some patterns have no match in some releases; what is needed is looked at below
  unzip -q -o "$wheel" 'torch/lib/libc10*.so' 'torch/lib/libgomp*' 'torch/include/c10/*' \
    'torch/include/torch/headeronly/*' torch/version.py -d "$oracle/$version" || true
  [ -e "$torch/lib/libc10_cuda.so" ] || { echo "$wheel holds no CUDA allocator" >&2; exit 1; }
  [ -n "${KEEP-}" ] || rm -f "$wheels/torch-$version"-*.whl
fi

lib=$torch/lib
header=$torch/include/c10/cuda/CUDACachingAllocator.h
# The pretend runtime takes the place, and so the name and the version, of what the release links.
runtime=$(readelf -d "$lib/libc10_cuda.so" | grep -oE 'libcudart\.so\.[0-9.]+' || true)
runtime=${runtime:-libcudart.so.11.0}
case $runtime in
*11.0) number=11070 ;;
*12) number=12080 ;;
*) number=13000 ;;
esac
echo "$runtime { global: *; };" >"$fake/map"
gcc -O2 -fPIC -shared -DCUDART_VERSION=$number -Wl,-soname,"$runtime" \
  -Wl,--version-script="$fake/map" -o "$fake/$runtime" "$here/fakecuda.c" -lpthread -ldl
ln -sf "$runtime" "$fake/libcudart.so"
for stub in libcuda libnvidia-ml; do # thin: their symbols are found in the runtime they depend on
  echo 'int fake_thin_;' | gcc -shared -fPIC -x c - -Wl,-soname,$stub.so.1 -Wl,--no-as-needed \
    -o "$fake/$stub.so.1" -L"$fake" -l:"$runtime" -Wl,-rpath,'$ORIGIN'
  ln -sf $stub.so.1 "$fake/$stub.so"
done

# What the release's headers offer decides what the harness can be told to do.
IFS=. read -r major minor patch <<<"$version"
defines="-DTV=$((major * 10000 + minor * 100 + patch))"
has() {
  if grep -q "$1" "$2"; then defines="$defines -D$3"; fi
}
has markCaptureBegin "$header" HAS_MARK
has skip_actions "$header" HAS_SKIP
has clearHistory "$header" HAS_CLEAR
has beginAllocateToPool "$header" HAS_ROUTE
has setNoSplit "$header" HAS_NOSPLIT
has createOrIncrefPool "$header" HAS_CREATE
has ensureExistsAndIncrefPool "$header" HAS_ENSURE
has setUseOnOOM "$header" HAS_OOMPOOL
has 'bool use_on_oom) {' "$header" HAS_OOMPOOL3
has attachAllocatorTraceTracker "$header" HAS_TRACKER
has attachOomRejectionObserver "$header" HAS_REJECT
has getMemoryFraction "$header" HAS_GETFRAC
has allocateWithAddress "$header" HAS_ADDR
has 'emptyCache(MempoolId_t' "$header" HAS_EC_ID
for each in "$torch/include/c10/core/CachingDeviceAllocator.h" "$header"; do
  [ -e "$each" ] || continue
  has requested_bytes "$each" HAS_REQ
  has num_sync_all_streams "$each" HAS_SYNC
  has num_oom_rejections "$each" HAS_NREJ
  has reserved_bytes_by_private_pools "$each" HAS_PRIV
done
if [ -e "$torch/include/c10/cuda/CUDAAllocatorConfig.h" ]; then defines="$defines -DHAS_CONF_H"; fi
abi=1
# grep reads to the end: nm must not die of a closed pipe
if nm -DC "$lib/libc10.so" | grep 'T c10::Error::Error(c10::SourceLocation, std::string)' >/dev/null; then abi=0; fi
standard=c++17
if [ $((major * 100 + minor)) -ge 212 ]; then standard=c++20; fi

# shellcheck disable=SC2086 # a list of options
g++ -O2 -std=$standard -w -D_GLIBCXX_USE_CXX11_ABI=$abi $defines -I"$torch/include" -I"$cuda" \
  -I"$cuda/../../cuda_nvcc/include" -o "$oracle/$version/harness" "$here/harness.cpp" \
  -L"$lib" -Wl,--no-as-needed -lc10_cuda -lc10 -L"$fake" -lcudart -lcuda -lnvidia-ml -ldl -lpthread \
  -Wl,--disable-new-dtags -Wl,-rpath,"$fake:$lib" -Wl,--unresolved-symbols=ignore-in-shared-libs
echo "built $oracle/$version/harness"
