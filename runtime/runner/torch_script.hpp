// SPDX-License-Identifier: MIT
//
// The program of the Python process: one JSON command a line in, one JSON answer a line out.
#pragma once

namespace heed::runner {

inline constexpr const char *torch_script = R"python(
import json, logging, math, os, sys, time, warnings

# Compilers and libraries that print must not meet the answers.
commands, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
# Idle compiler processes would share the cores with what is timed.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

def answer(**values):
    print(json.dumps(values), file=answers, flush=True)

try:
    import torch
    import torch._dynamo.config
    import torch._inductor.config
    import torch.nn.functional as functional
except Exception as error:
    answer(error="PyTorch cannot be imported: %s" % error)
    sys.exit(1)

def read(file, shapes):
    # Tensors one after another, each (name, type, shape), copied into memory of this process.
    tensors = {}
    sizes = {"float32": 4, "int32": 4, "uint8": 1}
    total = sum(math.prod(s) * sizes[t] for _, t, s in shapes)
    raw = torch.from_file(file, shared=False, size=total, dtype=torch.uint8)
    at = 0
    for name, kind, shape in shapes:
        count = math.prod(shape) * sizes[kind]
        tensors[name] = raw[at:at + count].view(getattr(torch, kind)).reshape(shape).clone()
        at += count
    return tensors

# Where the problem of the command lies: "cpu" or "cuda".
device = "cpu"

def wait_for_device():
    if device == "cuda":
        torch.cuda.synchronize()

def seconds_of(call):
    wait_for_device()
    begin = time.perf_counter()
    call()
    wait_for_device()
    return time.perf_counter() - begin

def set_threads(count):
    if device == "cpu":
        torch.set_num_threads(count)

def why_no_gpu():
    if not torch.version.cuda:
        return "PyTorch %s is built without CUDA" % torch.__version__
    return "" if torch.cuda.is_available() else "torch.cuda is not available"

def time_twice(call):
    call()
    return min(seconds_of(call) for _ in range(2))

# scaled_dot_product_attention

def ways_to_call(tensors, command):
    query, key, value = (tensors[name] for name in ("query", "key", "value"))
    mask = read(command["file"], command["tensors"])["mask"].to(device) if command["tensors"] else None
    if mask is not None:
        mask = mask.bool() if mask.dtype == torch.uint8 else mask.to(query.dtype)
    options = dict(attn_mask=mask, is_causal=command["causal"], scale=command["scale"])
    ratio = query.shape[1] // key.shape[1]
    if ratio == 1:
        return [lambda: functional.scaled_dot_product_attention(query, key, value, **options)]
    all_keys, all_values = (t.repeat_interleave(ratio, dim=1) for t in (key, value))
    expanded = lambda: functional.scaled_dot_product_attention(query, all_keys, all_values, **options)
    shared = lambda: functional.scaled_dot_product_attention(query, key, value, enable_gqa=True, **options)
    return [expanded, shared]

def fastest(ways):
    times = []
    for way in ways:
        try:
            times.append(time_twice(way))
        except TypeError:  # a PyTorch without enable_gqa
            times.append(math.inf)
    return ways[times.index(min(times))]

# FlexAttention. The functions below are those that translated declarations call; operands are tensors or numbers.

def is_tensor(x):
    return isinstance(x, torch.Tensor)

def divide_down(a, b):
    # 0 where the divisor is 0. A compiled division by 0 would end the process.
    if is_tensor(b):
        return torch.where(b == 0, 0, a // torch.where(b == 0, 1, b))
    return a // b if b != 0 else a * 0

def modulo(a, b):
    if is_tensor(b):
        return torch.where(b == 0, 0, a % torch.where(b == 0, 1, b))
    return a % b if b != 0 else a * 0

def min_of(a, b):
    if is_tensor(a) and is_tensor(b):
        return torch.minimum(a, b)
    if is_tensor(a) or is_tensor(b):
        return torch.clamp(a, max=b) if is_tensor(a) else torch.clamp(b, max=a)
    return min(a, b)

def max_of(a, b):
    if is_tensor(a) and is_tensor(b):
        return torch.maximum(a, b)
    if is_tensor(a) or is_tensor(b):
        return torch.clamp(a, min=b) if is_tensor(a) else torch.clamp(b, min=a)
    return max(a, b)

def abs_of(x):
    return abs(x)

def exp_of(x):
    return torch.exp(x) if is_tensor(x) else math.exp(x)

def log_of(x):
    return torch.log(x) if is_tensor(x) else math.log(x)

def sqrt_of(x):
    return torch.sqrt(x) if is_tensor(x) else math.sqrt(x)

def tanh_of(x):
    return torch.tanh(x) if is_tensor(x) else math.tanh(x)

def floor_of(x):
    return torch.floor(x) if is_tensor(x) else float(math.floor(x))

def select_of(condition, a, b):
    if is_tensor(condition):
        return torch.where(condition, a, b)
    return a if condition else b

def negation(x):
    return torch.logical_not(x) if is_tensor(x) else not x

def condition_of(x, kv_idx):
    if is_tensor(x):
        return x
    return kv_idx >= 0 if x else kv_idx < 0

def define(source, name):
    # Compiled anew each time: torch.compile keeps what it makes with the code object, and counts its versions.
    namespace = dict(globals())
    exec(compile(source, "heed_%s.py" % name, "exec"), namespace)
    return namespace[name]

call_source = """
def call(query, key, value, flex_attention, score_mod, block_mask, scale, shared):
    return flex_attention(query, key, value, score_mod=score_mod, block_mask=block_mask, scale=scale, enable_gqa=shared)
"""

def compile_flex(tensors, command):
    # On CPUs the blocks of the mask are the kernel's tiles, so their size is tuned: 128 is PyTorch's own choice, and
    # on GPUs the only one that is tried.
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    query, key, value = (tensors[name] for name in ("query", "key", "value"))
    q_len, kv_len = query.shape[2], key.shape[2]
    threads = command["threads"]
    set_threads(threads)
    # Kernels are compiled for a number of threads, which the cache of compiled kernels knows through this alone.
    if device == "cpu":
        torch._inductor.config.cpp.threads = threads
    # Rather fail than run without compiling.
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    inputs = {name[len("input "):]: tensor for name, tensor in tensors.items() if name.startswith("input ")}
    mask_mod, score_mod = define(command["source"], "make")(inputs, q_len, kv_len)
    best, first_error = None, None
    blocks = [128, 64, 32] if mask_mod else [None, 128, 64]
    for block in blocks if device == "cpu" else blocks[:1]:
        try:
            mask = None
            if block:
                mask = create_block_mask(
                    mask_mod or (lambda b, h, q_idx, kv_idx: kv_idx >= 0),
                    query.shape[0] if command["mask_reads_batch"] else None,
                    query.shape[1] if command["mask_reads_head"] else None,
                    q_len, kv_len, device=device, BLOCK_SIZE=block)
            compiled = torch.compile(define(call_source, "call"), dynamic=False, fullgraph=True)
            options = (flex_attention, score_mod, mask, command["scale"], query.shape[1] != key.shape[1])
            call = lambda compiled=compiled, options=options: compiled(query, key, value, *options)
            seconds = time_twice(call)
        except Exception as error:
            first_error = first_error or error
            continue
        if best is None or seconds < best[0]:
            best = (seconds, call, block or 0)
    if best is None:
        raise first_error
    return best[1:]

def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__

problems, all_threads = {}, torch.get_num_threads()
answer(version=torch.__version__)
with torch.inference_mode():
    for line in commands:
        command = json.loads(line)
        number = command["problem"]
        try:
            if command["do"] == "find gpu":
                answer(why_not=why_no_gpu())
                continue
            if command["do"] == "load":
                tensors = read(command["file"], command["tensors"])
                for name in ("query", "key", "value"):
                    tensors[name] = tensors[name].to(getattr(torch, command["storage"]))
                tensors = {name: tensor.to(command["device"]) for name, tensor in tensors.items()}
                problems[number] = dict(tensors=tensors, calls={}, device=command["device"])
                answer(ok=True)
                continue
            problem = problems[number]
            device = problem["device"]
            # SDPA takes any number of threads, FlexAttention is compiled for one.
            peer = command.get("peer")
            if command["do"] == "sdpa":
                set_threads(all_threads)
                problem["calls"]["sdpa"] = fastest(ways_to_call(problem["tensors"], command))
                answer(ok=True)
            elif command["do"] == "flex":
                try:
                    call, block = compile_flex(problem["tensors"], command)
                except Exception as error:
                    answer(failed=first_line(error))
                    continue
                problem["calls"]["flex %d" % command["threads"]] = call
                answer(block=block)
            elif command["do"] == "time":
                set_threads(command["threads"])
                call = problem["calls"][peer]
                answer(seconds=[seconds_of(call) for _ in range(command["calls"])])
            elif command["do"] == "result":
                set_threads(command["threads"])
                output = problem["calls"][peer]().float().cpu()
                file = torch.from_file(command["file"], shared=True, size=output.numel(), dtype=torch.float32)
                file.copy_(output.reshape(-1))
                answer(ok=True)
            elif command["do"] == "unload":
                del problems[number]
                answer(ok=True)
        except Exception as error:
            answer(error=first_line(error))
)python";

}  // namespace heed::runner
