#!/bin/sh
# Builds kernels of the gallery for CUDA, verifies them on this machine's GPU, times them, beside PyTorch where it is
# installed, and writes build/gpu/gpu.json. Prints [SKIP] and the reason where there is no GPU. Can be repeated.
#
# HEED_TORCH_PYTHON names the Python with PyTorch, else it is python3. For tests of this script without a GPU:
# HEED_GPU_RUNNER names a runner in place of the one that is built, HEED_GPU_KIND the kind of its device, HEED_GPU_FOLDER
# where files go, HEED_GPU_LENGTHS the lengths of prompts and HEED_GPU_KEYS the keys before a token.
set -eu
cd "$(dirname "$0")/.."

kind=${HEED_GPU_KIND:-cuda}
folder=${HEED_GPU_FOLDER:-build/gpu}
torch_python=${HEED_TORCH_PYTHON:-$(command -v python3 || echo python3)}

# Asked before anything is installed or built.
has_driver() {
    for library_folder in $(echo "${LD_LIBRARY_PATH-}" | tr ':' ' '); do
        [ ! -e "$library_folder/libcuda.so.1" ] || return 0
    done
    PATH="$PATH:/sbin:/usr/sbin" ldconfig -p | grep -q 'libcuda\.so\.1 '
}

if [ "$kind" = cuda ] && ! has_driver; then
    echo "[SKIP] cuda: there is no driver: libcuda.so.1 cannot be opened"
    exit 0
fi

runner=${HEED_GPU_RUNNER-}
timed_variants=
if [ -z "$runner" ]; then
    extra_packages=
    . examples/setup.sh
    cmake --preset gpu
    cmake --build --preset gpu
    runner=build/gpu/bin/heed-gallery-cuda
    # Not all that are verified: PyTorch compiles FlexAttention for each, and for each length.
    timed_variants="mha_causal mha_window_256 gqa_32_8 mqa_64 alibi_12 documents"
fi
# As 'devices --help' says; any other failure is one.
no_such_device=3
search_status=0
found=$("$runner" devices "$kind") || search_status=$?
if [ "$search_status" -eq "$no_such_device" ]; then
    echo "[SKIP] $found"
    exit 0
fi
if [ "$search_status" -ne 0 ]; then
    echo "The search for a device failed: '$runner devices $kind' ended with status $search_status" >&2
    exit 1
fi
echo "$found"
mkdir -p "$folder"

status=0
"$runner" verify --quick --threads 1 || status=1

against_torch=
if why_not=$("$torch_python" -c 'import torch' 2>&1); then
    against_torch="--against-torch --python $torch_python"
else
    echo "Not compared with PyTorch: $torch_python says: $(echo "$why_not" | tail -n 1)." \
        "HEED_TORCH_PYTHON names a Python that has it."
fi
settings=
if "$runner" list | grep -q '^  document '; then
    settings="--set document=blocks:8"
fi
# shellcheck disable=SC2086
time_calls() {
    file=$1
    shift
    "$runner" bench $timed_variants "$@" --repeat 5 $settings $against_torch --json "$folder/$file.json" || status=1
}
time_calls prompts --seq "${HEED_GPU_LENGTHS:-1024,4096}"
time_calls tokens --q 1 --kv "${HEED_GPU_KEYS:-8192}"

# The records of both in one list.
python3 - "$folder" <<'END'
import json, sys
folder, records = sys.argv[1], []
for name in ("prompts", "tokens"):
    with open("%s/%s.json" % (folder, name)) as file:
        records += json.load(file)
with open(folder + "/gpu.json", "w") as file:
    json.dump(records, file, indent=2)
print("%d records in %s/gpu.json" % (len(records), folder))
END
exit $status
