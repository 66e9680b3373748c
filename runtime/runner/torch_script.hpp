// SPDX-License-Identifier: MIT
//
// The program of the Python process: one JSON command a line in, one JSON answer a line out.
#pragma once

namespace heed::runner {

inline constexpr const char *torch_script = R"python(
import json, math, sys, time

answers = sys.stdout
sys.stdout = sys.stderr

def answer(**values):
    print(json.dumps(values), file=answers, flush=True)

try:
    import torch
    import torch.nn.functional as functional
except Exception as error:
    answer(error="PyTorch cannot be imported: %s" % error)
    sys.exit(1)

def read(file, shapes):
    # Tensors one after another, each (name, type, shape), copied into memory of this process.
    tensors = {}
    sizes = {"float32": 4, "uint8": 1}
    raw = torch.from_file(file, shared=False, size=sum(math.prod(s) * sizes[t] for _, t, s in shapes), dtype=torch.uint8)
    at = 0
    for name, kind, shape in shapes:
        count = math.prod(shape) * sizes[kind]
        tensors[name] = raw[at:at + count].view(getattr(torch, kind)).reshape(shape).clone()
        at += count
    return tensors

def ways_to_call(command):
    t = read(command["file"], command["tensors"])
    mask = t["mask"].bool() if "mask" in t else t.get("bias")
    options = dict(attn_mask=mask, is_causal=command["causal"], scale=command["scale"])
    ratio = t["query"].shape[1] // t["key"].shape[1]
    if ratio == 1:
        return [lambda: functional.scaled_dot_product_attention(t["query"], t["key"], t["value"], **options)]
    key, value = (t[name].repeat_interleave(ratio, dim=1) for name in ("key", "value"))
    expanded = lambda: functional.scaled_dot_product_attention(t["query"], key, value, **options)
    shared = lambda: functional.scaled_dot_product_attention(t["query"], t["key"], t["value"], enable_gqa=True, **options)
    return [expanded, shared]

def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin

def fastest(ways):
    times = []
    for way in ways:
        try:
            way()
            times.append(min(seconds_of(way) for _ in range(2)))
        except TypeError:  # a PyTorch without enable_gqa
            times.append(math.inf)
    return ways[times.index(min(times))]

problems = {}
answer(version=torch.__version__)
with torch.inference_mode():
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if command["do"] == "load":
                problems[command["problem"]] = fastest(ways_to_call(command))
                answer(ok=True)
            elif command["do"] == "time":
                torch.set_num_threads(command["threads"])
                call = problems[command["problem"]]
                answer(seconds=[seconds_of(call) for _ in range(command["calls"])])
            elif command["do"] == "result":
                output = problems[command["problem"]]()
                file = torch.from_file(command["file"], shared=True, size=output.numel(), dtype=torch.float32)
                file.copy_(output.reshape(-1))
                answer(ok=True)
            elif command["do"] == "unload":
                del problems[command["problem"]]
                answer(ok=True)
        except Exception as error:
            answer(error=str(error))
)python";

}  // namespace heed::runner
