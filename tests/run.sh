#!/bin/sh
# Sets up, builds and runs the tests: all of them, or those of one CTest label (a folder of tests/). Can be repeated.
# With the argument 'gpu': what only a GPU can tell, see gpu.sh.
set -eu
cd "$(dirname "$0")/.."

if [ "${1-}" = gpu ]; then
    exec sh tests/gpu.sh
fi

extra_packages="clang doctest-dev g++-aarch64-linux-gnu libvulkan1 mesa-vulkan-drivers ocl-icd-libopencl1 pocl-opencl-icd qemu-user"
. examples/setup.sh
.venv/bin/pip install -q --disable-pip-version-check --no-deps -r tests/requirements.txt

cmake --preset ci
cmake --build --preset ci
if [ $# -gt 0 ]; then
    ctest --preset ci -L "^$1\$" --no-tests=error
else
    ctest --preset ci --no-tests=error
fi
