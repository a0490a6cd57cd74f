"""frameworks.py WHICH: programs that were never changed, to be run under the manager of an instance of 20 GB."""
import os
import sys

which = sys.argv[1]
if which == "jax":
    import jax, jax.numpy as jnp
    x = jnp.ones((4096, 4096))
    assert float(jax.jit(lambda a: a @ a)(x)[3, 3]) == 4096
elif which == "cupy":
    import cupy as cp
    x = cp.ones((4096, 4096), dtype=cp.float32)
    assert float((x @ x)[3, 3]) == 4096
    cp.cuda.set_allocator(cp.cuda.MemoryAsyncPool().malloc)
    y = cp.arange(1 << 24)
    assert int(y.sum()) == (1 << 24) * ((1 << 24) - 1) // 2
elif which == "triton":
    import torch, triton, triton.language as tl

    @triton.jit
    def double(p, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(p + at, tl.load(p + at, mask=at < n) * 2, mask=at < n)

    x = torch.ones(10000, device="cuda")
    double[(10,)](x, 10000, block=1024)
    assert float(x.sum()) == 20000
elif which == "nccl":
    import torch
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK="0", WORLD_SIZE="1")
    torch.distributed.init_process_group("nccl")
    x = torch.ones(1 << 20, device="cuda")
    torch.distributed.all_reduce(x)
    assert float(x.sum()) == 1 << 20
    torch.distributed.destroy_process_group()
elif which == "workers":
    import torch

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, at):
            return torch.full((16,), float(at))

    torch.ones(1, device="cuda")
    batches = torch.utils.data.DataLoader(Data(), batch_size=8, num_workers=2, pin_memory=True)
    assert sum(float(own.cuda().sum()) for own in batches) == 16 * 63 * 64 / 2
elif which == "train":
    import time
    import torch
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
    steps = torch.optim.Adam(model.parameters())
    x = torch.randn(1024, 2048, device="cuda")
    for turn in range(220):
        if turn == 20:
            torch.cuda.synchronize()
            begun = time.time()
        steps.zero_grad()
        (model(x) ** 2).mean().backward()
        steps.step()
    torch.cuda.synchronize()
    print(f"{200 / (time.time() - begun):.1f} steps/s")
else:
    import torch
    x = torch.ones(4096, 4096, device="cuda")
    assert float((x @ x)[-1, -1]) == 4096
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            z = (x @ x).relu()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        z = (x @ x).relu()
    graph.replay()
    torch.cuda.synchronize()
    assert float(z[5, 5]) == 4096
    held = []
    try:
        while len(held) < 200:
            held.append(torch.zeros(1 << 30, dtype=torch.uint8, device="cuda"))
        sys.exit("no end of memory")
    except torch.OutOfMemoryError:
        print(f"out of memory after {len(held)} GiB, as told", flush=True)
        assert 15 <= len(held) <= 18
    held = None
    torch.cuda.empty_cache()
    assert float((x @ x)[7, 7]) == 4096
print(which, os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""), "right")
