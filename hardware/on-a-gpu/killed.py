"""killed.py HOLD: when the memory of a killed process is free, and what a context takes. HOLD is the program of hold.cu."""
import os
import select
import signal
import subprocess
import sys
import time

import pynvml

pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(0)


def used():
    return pynvml.nvmlDeviceGetMemoryInfo(gpu).used


def start(*words, **env):
    own = subprocess.Popen(
        [sys.argv[1], *words], stdout=subprocess.PIPE, text=True, env={**os.environ, **env}
    )
    for line in own.stdout:
        if "has it" in line:
            return own
    sys.exit(f"{words}: no memory")


before = used()
late = 0
mps = "CUDA_MPS_PIPE_DIRECTORY" in os.environ
for _ in range(0 if mps else 6):
    own = start("40e9", "100")
    death = select.poll()
    death.register(os.pidfd_open(own.pid), select.POLLIN)
    begun = time.time()
    os.kill(own.pid, signal.SIGKILL)
    death.poll()
    told = time.time()
    left = used() - before
    late += left > 1e9
    print(f"told after {1e3 * (told - begun):.0f} ms; {left / 1e6:.0f} MB of 40 GB are used then")
    own.wait()
base = used()
own = start("1e6", "2")
print(f"a context and 2 MB take {(used() - base) / 1e6:.0f} MB")
own.wait()
if mps:
    for percent in ["100", "50", "28", "14"]:
        base = used()
        own = start("1e6", "2", CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=percent)
        print(f"with {percent} % of the multiprocessors, under MPS: {(used() - base) / 1e6:.0f} MB")
        own.wait()
sys.exit(late > 0)
