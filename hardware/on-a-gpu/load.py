"""load.py: idle, computes, copies each way: three to four seconds each, and what was reached."""
import time

import torch

began = time.time()


def say(what):
    print(f"{time.time() - began:5.1f} s {what}", flush=True)


def turns(seconds, work):
    begun, count = time.time(), 0
    while time.time() < begun + seconds:
        work()
        torch.cuda.synchronize()
        count += 1
    return count / (time.time() - begun)


a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
here = torch.empty(1 << 30, dtype=torch.uint8).pin_memory()
there = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
say("idle")
time.sleep(3)
say("products")
each = turns(4, lambda: a @ a)
say(f"{each * 2 * 8192**3 / 1e12:.0f} TFLOP/s; now copies to the device")
each = turns(4, lambda: there.copy_(here, non_blocking=True))
say(f"{each * 2**30 / 1e9:.1f} GB/s; now copies from it")
each = turns(4, lambda: here.copy_(there, non_blocking=True))
say(f"{each * 2**30 / 1e9:.1f} GB/s")
