"""Records what PyTorch's CUDA caching allocator does with random requests; the .txt files here are its output
(train_* are whole training runs in the same form, without addresses).

    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python record_requests.py SEED COUNT STREAMS FRACTION LOG2_LARGEST

Needs a CUDA build of PyTorch and a device (a pretend one will do: no kernel runs, only allocations).

First line: what was set, as JSON. Then, one a line:
  a ID BYTES STREAM [ADDRESS] served, at this address (from the lowest of the device)
  o ID BYTES STREAM           ended in out of memory
  r ID                        freed
  u ID STREAM                 record_stream
  E                           empty_cache
  S|F|M|U BYTES               all segment_alloc, segment_free, segment_map, segment_unmap, in order
  = NAME NUMBERS              memory_stats() at the end: current, peak, allocated, freed; or one number
"""
import json
import os
import random
import sys

import torch

SIZES = [1 << 20, (1 << 20) + 1, 10 << 20, (10 << 20) - 512, 11 << 20, 5 << 20, 19 << 20, 20 << 20]
TALLIES = ["allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
           "inactive_split_bytes", "requested_bytes"]
SCALARS = ["num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free"]
ACTIONS = {"segment_alloc": "S", "segment_free": "F", "segment_map": "M", "segment_unmap": "U"}
PARTS = ["current", "peak", "allocated", "freed"]


def random_size(rng, largest):
    draw = rng.random()
    if draw < 0.4:
        return rng.randint(1, 1 << 20)
    if draw < 0.5:
        return rng.choice(SIZES)
    if draw < 0.8:
        return int(2 ** rng.uniform(20, 25))
    return int(2 ** rng.uniform(22, largest))


def play(rng, count, streams, largest, base, live):
    lines, next_id = [], 0
    for i in range(count):
        growing = 0.62 if (i // 200) % 2 == 0 else 0.40
        draw = rng.random()
        if draw < 0.004:
            torch.cuda.empty_cache()
            lines.append("E")
        elif draw < growing or not live:
            stream = rng.randrange(len(streams)) if rng.random() < 0.3 else 0
            size = random_size(rng, largest)
            next_id += 1
            try:
                with torch.cuda.stream(streams[stream]):
                    tensor = torch.empty(size, dtype=torch.uint8, device="cuda")
                live[next_id] = tensor
                lines.append(f"a {next_id} {size} {stream} {tensor.data_ptr() - base}")
            except torch.OutOfMemoryError:
                lines.append(f"o {next_id} {size} {stream}")
        else:
            key = rng.choice(list(live))
            tensor = live.pop(key)
            if len(streams) > 1 and rng.random() < 0.2:
                other = rng.randrange(len(streams))
                tensor.record_stream(streams[other])
                lines.append(f"u {key} {other}")
            del tensor
            lines.append(f"r {key}")
    return lines


def main():
    seed, count, stream_count = (int(arg) for arg in sys.argv[1:4])
    fraction, largest = float(sys.argv[4]), float(sys.argv[5])
    torch.cuda.init()
    base = torch.empty(1, device="cuda").data_ptr()
    torch.cuda.empty_cache()
    if fraction:
        torch.cuda.set_per_process_memory_fraction(fraction)
    capacity, total = torch.cuda.mem_get_info()
    streams = [torch.cuda.default_stream()] + [torch.cuda.Stream() for _ in range(stream_count - 1)]
    torch.cuda.memory.reset_peak_memory_stats()
    torch.cuda.memory.reset_accumulated_memory_stats()
    torch.cuda.memory._record_memory_history(max_entries=10**7, stacks="python", context=None)
    before = torch.cuda.memory_stats()
    live = {}  # kept until the counters are read
    lines = play(random.Random(seed), count, streams, largest, base, live)
    stats = torch.cuda.memory_stats()
    print(json.dumps({"torch": torch.__version__, "conf": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""),
                      "capacity": capacity, "total": total, "fraction": fraction}))
    print("\n".join(lines))
    for entry in torch.cuda.memory._snapshot()["device_traces"][0]:
        if entry["action"] in ACTIONS:
            print(ACTIONS[entry["action"]], entry["size"])
    for name in TALLIES:
        for pool in ("all", "small_pool", "large_pool"):
            print("=", f"{name}.{pool}", *(stats[f"{name}.{pool}.{part}"] for part in PARTS))
    for name in ("oversize_allocations", "oversize_segments"):
        print("=", name, *(stats[f"{name}.{part}"] for part in PARTS))
    for name in SCALARS:
        print("=", name, stats[name] - before[name])


main()
