"""What a prompt costs hosts, with the real vLLM and its bench client, on a CPU; see `docs/hosts.md`.

Needs vLLM, not this project: run it from a checkout with an interpreter that has vLLM 0.28.0, and NIXL. What
cannot be measured there says why. Times are CPU time of the thread or process that does the work, so that a
machine with other work to do counts less.
"""

import argparse
import asyncio
import importlib.metadata
import json
import multiprocessing
import platform
import random
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

VOCABULARY = 248_320
BLOCK_TOKENS = 800
"""Of the hybrid model of the shipped scenarios; vLLM's usual 16 are measured beside it."""
HASH_ALGORITHM = "sha256"
"""vLLM's default."""


class Part(NamedTuple):
    """A piece of work, and the coefficient that it is a part of."""

    name: str
    coefficient: str
    measure: Callable[[int, int], list[float]]
    """Seconds of CPU of each of so many rounds, for so many tokens or descriptors."""
    per: str = "token"


# -- the client ---------------------------------------------------------------------------------------------


def _serve(listener: socket.socket) -> None:
    """Read requests whole, and answer each with a stream of one token."""
    chunk = json.dumps({"choices": [{"text": "a"}]})
    usage = json.dumps({"choices": [], "usage": {"completion_tokens": 1, "prompt_tokens": 1}})
    body = f"data: {chunk}\n\ndata: {usage}\n\ndata: [DONE]\n\n".encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    )

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(request.split("content-length:")[1].split("\r\n")[0])
                await reader.readexactly(length)
                writer.write(head + body)
                await writer.drain()
        except asyncio.IncompleteReadError:
            writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer, sock=listener, limit=1 << 24)
        await server.serve_forever()

    asyncio.run(serve())


def post(tokens: int, rounds: int) -> list[float]:
    """Let the bench client's own request function post a prompt of ids; the server is another process."""
    import aiohttp
    from vllm.benchmarks.lib.endpoint_request_func import RequestFuncInput, async_request_openai_completions

    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/completions"
    server = multiprocessing.get_context("fork").Process(target=_serve, args=(listener,), daemon=True)
    server.start()
    prompts = [_ids(tokens, seed) for seed in range(rounds + 2)]

    async def send() -> list[float]:
        found = []
        async with aiohttp.ClientSession() as session:
            for prompt in prompts:
                asked = RequestFuncInput(
                    prompt=prompt, api_url=url, prompt_len=tokens, output_len=1, model="m"
                )
                before_s = time.process_time()
                output = await async_request_openai_completions(asked, session)
                found.append(time.process_time() - before_s)
                if not output.success:
                    raise RuntimeError(output.error)
        return found[2:]

    try:
        return asyncio.run(send())
    finally:
        server.terminate()
        server.join()
        listener.close()


# -- the process in front of an engine ----------------------------------------------------------------------


def check(tokens: int, rounds: int) -> list[float]:
    """Look for the largest id, as `InputProcessor` does to refuse one outside of the vocabulary."""
    prompt = _ids(tokens)
    return [*_timed(lambda: max(prompt, default=0), rounds)]


def encode(tokens: int, rounds: int) -> list[float]:
    """Pack the request for the engine's process."""
    from vllm.v1.serial_utils import MsgpackEncoder

    encoder, request = MsgpackEncoder(), _engine_request(tokens)
    return [*_timed(lambda: encoder.encode(request), rounds)]


# -- the engine ---------------------------------------------------------------------------------------------


def decode(tokens: int, rounds: int) -> list[float]:
    """Unpack it there: on a thread beside the loop, which waits for the interpreter's lock."""
    from vllm.v1.engine import EngineCoreRequest
    from vllm.v1.serial_utils import MsgpackDecoder, MsgpackEncoder

    frames = MsgpackEncoder().encode(_engine_request(tokens))
    decoder = MsgpackDecoder(EngineCoreRequest)
    return [*_timed(lambda: decoder.decode(frames), rounds)]


def make_and_hash(block_tokens: int | None) -> Callable[[int, int], list[float]]:
    """Make the engine's request, with the hashes of its blocks; None: without. On that thread too."""

    def measure(tokens: int, rounds: int) -> list[float]:
        from vllm.utils.hashing import get_hash_fn_by_name
        from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
        from vllm.v1.request import Request

        hasher = None
        if block_tokens is not None:
            hash_of = get_hash_fn_by_name(HASH_ALGORITHM)
            init_none_hash(hash_of)
            hasher = get_request_block_hasher(block_tokens, hash_of)
        request = _engine_request(tokens)
        return [*_timed(lambda: Request.from_engine_core_request(request, hasher), rounds)]

    return measure


def token_row(tokens: int, rounds: int) -> list[float]:
    """Write the ids into the row of the batch, as `InputBatch.add_request` does, on the loop."""
    import numpy as np

    prompt, row = _ids(tokens), np.zeros((1, tokens + 1), dtype=np.int32)

    def write() -> None:
        row[0, :tokens] = prompt

    return [*_timed(write, rounds)]


def posts(descriptors: int, rounds: int) -> list[float]:
    """Post a read of so many pieces between two NIXL agents, as `NixlPullConnectorWorker` does, on the loop.

    The pieces are of 64 bytes in host memory, so that little but the posting takes time.
    """
    import numpy as np
    from vllm.distributed.nixl_utils import NixlWrapper, nixl_agent_config

    if NixlWrapper is None:
        raise ImportError("NIXL is not installed")
    piece = 64
    agents = [NixlWrapper(name, nixl_agent_config(num_threads=0)) for name in ("decode", "prefill")]
    memory = [np.zeros(2 * descriptors * piece, dtype=np.uint8) for _ in agents]
    handles = []
    registered = []
    for agent, block in zip(agents, memory, strict=True):
        found = agent.get_reg_descs([(block.ctypes.data, block.nbytes, 0, "")], "DRAM")
        agent.register_memory(found)
        registered.append(found)
    local, remote = agents
    name = local.add_remote_agent(remote.get_agent_metadata())
    for owner, block in zip(("NIXL_INIT_AGENT", name), memory, strict=True):
        pieces = [(block.ctypes.data + 2 * place * piece, piece, 0) for place in range(descriptors)]
        handles.append(local.prep_xfer_dlist(owner, local.get_xfer_descs(pieces, "DRAM")))
    ids = np.arange(descriptors)
    found_s = []
    for number in range(rounds + 2):
        before_s = time.thread_time()
        handle = local.make_prepped_xfer(
            "READ", handles[0], ids, handles[1], ids, notif_msg=str(number).encode()
        )
        local.transfer(handle)
        found_s.append(time.thread_time() - before_s)
        while local.check_xfer_state(handle) == "PROC":
            pass
        local.release_xfer_handle(handle)
    return found_s[2:]


PARTS = (
    Part("the bench client posts it", "client_s_per_token", post),
    Part("largest id", "relay_s_per_token", check),
    Part("pack for the engine", "relay_s_per_token", encode),
    Part("unpack in the engine", "admit_s_per_token", decode),
    Part("request without hashes", "admit_s_per_token", make_and_hash(None)),
    Part(f"request, blocks of {BLOCK_TOKENS}", "admit_s_per_token", make_and_hash(BLOCK_TOKENS)),
    Part("request, blocks of 16", "admit_s_per_token", make_and_hash(16)),
    Part("row of the batch", "admit_s_per_token", token_row),
    Part("NIXL posts a read", "post_s_per_descriptor", posts, per="descriptor"),
)
NOT_MEASURED = {
    "relay_s_per_token": "Dynamo's request as a Python dict: needs its runtime and a frontend",
    "handoff_step_s": "the first step after a pull: needs a GPU and its CUDA graphs",
}


def _ids(tokens: int, seed: int = 0) -> list[int]:
    """Return ids, each an object of its own, as from a parser."""
    draw = random.Random(seed)
    return [draw.randrange(VOCABULARY) for _ in range(tokens)]


def _engine_request(tokens: int) -> Any:
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine import EngineCoreRequest

    return EngineCoreRequest(
        request_id="r",
        prompt_token_ids=_ids(tokens),
        mm_features=None,
        sampling_params=SamplingParams(max_tokens=100),
        pooling_params=None,
        arrival_time=0.0,
        lora_request=None,
        cache_salt=None,
        data_parallel_rank=None,
    )


def _timed(act: Callable[[], object], rounds: int) -> Iterator[float]:
    """Yield the CPU time of each round, after two that are not counted."""
    for number in range(rounds + 2):
        before_s = time.thread_time()
        kept = act()
        took_s = time.thread_time() - before_s
        del kept
        if number >= 2:
            yield took_s


def row(part: Part, amount: int, rounds: int) -> str:
    """Measure a part; return a row of the table, or why there is none."""
    try:
        few, many = part.measure(amount // 100, rounds), part.measure(amount, rounds)
    except Exception as error:
        return f"| {part.name} | `{part.coefficient}` | not measured: {type(error).__name__}: {error} | | |"
    # What does not grow with the prompt is no part of the coefficient.
    fixed_s = statistics.median(few)
    each = sorted((took_s - fixed_s) / (amount - amount // 100) for took_s in many)
    low, mid, high = each[len(each) // 10], statistics.median(each), each[-1 - len(each) // 10]
    scale, unit = (1e6, "us") if part.per == "descriptor" else (1e9, "ns")
    spread = f"{low * scale:.3g} to {high * scale:.3g}"
    took_ms = statistics.median(many) * 1e3
    median = f"{mid * scale:.3g} {unit} a {part.per}"
    return f"| {part.name} | `{part.coefficient}` | {median} | {spread} | {took_ms:.1f} |"


def main() -> None:
    """Print a table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--tokens", type=int, default=213_000, help="of a prompt")
    asked.add_argument("--descriptors", type=int, default=8_600, help="of a read")
    asked.add_argument("--rounds", type=int, default=20)
    asked.add_argument("--only", default="", help="parts with this in their name or coefficient")
    given = asked.parse_args()
    versions = []
    for package in ("vllm", "torch", "aiohttp", "msgspec", "nixl-cu13", "nixl-cu12"):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    print(
        f"{platform.python_implementation()} {platform.python_version()}, {', '.join(versions) or 'no vLLM'}"
    )
    print(f"prompts of {given.tokens:,} tokens, reads of {given.descriptors:,} descriptors, CPU time\n")
    print("| part | of | median | 80 % of rounds | all (ms) |\n|---|---|---|---|---|")
    for part in PARTS:
        if given.only in f"{part.name} {part.coefficient}":
            amount = given.descriptors if part.per == "descriptor" else given.tokens
            print(row(part, amount, given.rounds), flush=True)
    for coefficient, why in NOT_MEASURED.items():
        print(f"| | `{coefficient}` | not measured: {why} | | |")


if __name__ == "__main__":
    main()
