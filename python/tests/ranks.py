"""Runs a function on several ranks, processes of this machine over Gloo."""

import io
import os
import tempfile
import traceback

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def _main(rank, world, file, function, args, queue):
    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            "gloo", init_method=f"file://{file}", rank=rank, world_size=world
        )
        result = function(rank, world, *args)
        dist.barrier()
        dist.destroy_process_group()
        # Tensors of their own: those of a queue end with the process that put them there.
        file = io.BytesIO()
        torch.save(result, file)
        queue.put((rank, None, file.getvalue()))
    except BaseException:
        queue.put((rank, traceback.format_exc(), None))


def run(world, function, *args):
    """What `function(rank, world, *args)` gives on each rank, in their order."""
    context = mp.get_context("spawn")
    queue = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "store")
        processes = [
            context.Process(target=_main, args=(rank, world, file, function, args, queue))
            for rank in range(world)
        ]
        for process in processes:
            process.start()
        results = [queue.get() for _ in processes]
        for process in processes:
            process.join()
    for rank, error, _ in results:
        assert error is None, f"rank {rank}: {error}"
    return [
        torch.load(io.BytesIO(result), weights_only=False)
        for _, _, result in sorted(results, key=lambda each: each[0])
    ]
