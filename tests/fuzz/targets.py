"""What is fuzzed: each target has files to start from and reads one that is damaged."""

import random
from pathlib import Path

from sim.cluster.clients.make import make_client
from sim.events.clock import Clock
from sim.hardware.cache_groups import cache_groups
from sim.hardware.coefficient_file import read_coefficient_file
from sim.hardware.hf_config import from_hf_config
from sim.measured.account import account
from sim.measured.formats.forward_json import read_forward
from sim.measured.formats.requests_csv import read_requests
from sim.measured.run import load_run
from sim.measured.summary import summarise
from sim.published.cells import points
from sim.published.cluster import read_cluster
from sim.published.show_rows import band
from sim.scenario.load import load_scenario
from sim.workload.formats import FORMATS
from sim.workload.settings import ReplaySettings
from sim.workload.trace_file import load_trace
from tests.fuzz import transcripts
from tests.fuzz.target import Target
from tests.published.example import EXAMPLE, write_example
from tests.published.recipe import FILES, write_cluster

DATA = Path(__file__).parents[1] / "data"
TRACES = Path(__file__).parents[1] / "workload" / "data"
SHIPPED = Path(__file__).parents[2]
SMALL = DATA / "measured" / "small"

FOREIGN = (
    b'{"type": "user", "sessionId": "S", "uuid": "u", "parentUuid": null, "message": {"role": "user"}}\n',
    b'{"timestamp": 1, "event": {"schema": "dynamo.request.trace.v1", "event_type": "request_end"}}\n',
    b'{"id": "t", "block_size": 64, "requests": [{"t": 0, "in": 200, "out": 3, "hash_ids": [1]}]}\n',
    b"session_id,prefix_len,input_len,output_len\n0,0,10,5\n",
    b'[\n {"timestamp": 0, "input_length": 10,\n "output_length": 1, "hash_ids": [1]}\n]\n',
    b'{"timestamp":0,"session_id":"a","input_length":900,"output_length":5,"hash_ids":[1,2]}\n'
    b'{"session_id":"a","delay":9,"input_length":300,"output_length":5,"hash_ids":[7]}\n',
)
CONFIG = (
    b'{"hidden_size": 64, "intermediate_size": 128, "vocab_size": 100, "num_attention_heads": 4, '
    b'"num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 512, '
    b'"torch_dtype": "bfloat16"}'
)
CONFIGS = [
    ("config.json", CONFIG),
    (
        "experts-config.json",
        b'{"architectures": ["DeepseekV3ForCausalLM"], "n_routed_experts": 8, "num_experts_per_tok": 2, '
        b'"moe_intermediate_size": 64, "n_shared_experts": 1, "first_k_dense_replace": 1, '
        b'"kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, '
        b'"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}, ' + CONFIG[1:],
    ),
    (
        "windows-config.json",
        b'{"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 64, '
        b'"num_local_experts": 4, "experts_per_token": 2, "quantization_config": {"quant_algo": "NVFP4", '
        b'"ignore": ["*self_attn*"], "kv_cache_scheme": {"num_bits": 8, "type": "float"}}, ' + CONFIG[1:],
    ),
    (
        "mamba-config.json",
        b'{"architectures": ["NemotronHForCausalLM"], "hybrid_override_pattern": "MM*-", '
        b'"mamba_num_heads": 4, "mamba_head_dim": 8, "ssm_state_size": 8, "n_groups": 2, '
        b'"conv_kernel": 4, ' + CONFIG[1:],
    ),
]
"""Names end in config.json."""
TABLES = """
[static.sessions]
profile = "kct"
sessions = 10
sets = 1
metrics.prompts = "prompt_tokens"

[[baseline]]
name = "roofline"
settings = ["timing.preset=roofline"]

[fit]
rows = "rows of the post"
coefficients = ["a_pair_s"]
"""
FORWARD = (
    b'[{"case": "d", "requests": [{"query_len": 1, "kv_len": 9, "num_draft_tokens": 0, "chunked": false}], '
    b'"median_us": 9000.5, "ranks": [{"finite": true, "latency_us": {"sample_spread_pct": 0.1}}]}]'
)
REQUESTS = b"run,request,send_s,ttft_s,e2e_s,input_tokens,output_tokens\na,0,0,0.1,0.5,100,5\n"
OVERRIDES = (
    "workload.sessions=3",
    "engine.kv_blocks=400",
    "offload={cpu_bytes='64GiB'}",
    "model={preset='qwen3-14b-bf16'}",
    "router.temperature=0.5",
    "output.tables=[]",
)


def _files(*paths: Path) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in paths]


def _trace_seeds() -> list[tuple[str, bytes]]:
    own = _files(*sorted(TRACES.glob("*.jsonl")), DATA / "livelock.jsonl")
    return own + [(f"foreign{i}.jsonl", content) for i, content in enumerate(FOREIGN)]


def _read_trace(path: Path, draw: random.Random) -> None:
    trace = load_trace(
        path,
        format=draw.choice(("auto", "auto", *FORMATS)),
        full_prompts=draw.random() < 0.3,
        hash_rounding=draw.choice((None, None, "ceil", "floor")),
        chunk_tokens=draw.choice((None, None, 16, 64, 512)),
        sessions=draw.choice((None, None, 1)),
    )
    for request in trace.requests:
        assert request.prompt_tokens > 0 < request.output_tokens
        request.session.encode()
    "\n".join(trace.notes).encode()
    client = draw.choice(("open-loop", "max-concurrency", "turn-dependent"))
    make_client(Clock(), trace, ReplaySettings(client=client), lambda _: None)


def _scenario_seeds() -> list[tuple[str, bytes]]:
    shipped = _files(*sorted((SHIPPED / "scenarios").glob("*.toml")), DATA / "livelock.toml")
    fits = _files(*sorted((SHIPPED / "calibration").glob("*.toml"))[:2])
    fits += _files(*sorted((SHIPPED / "calibration" / "aic").glob("*.toml"))[:1])
    return shipped * 2 + [(f"fit-{name}", content) for name, content in fits] + CONFIGS


def _read_scenario(path: Path, draw: random.Random) -> None:
    if path.name.endswith("config.json"):
        model = from_hf_config(path)
        cache_groups(model)
        model.weight_parts()
        return
    if path.name.startswith("fit-"):
        read_coefficient_file(path)
        return
    overrides = draw.sample(OVERRIDES, draw.randrange(3))
    if draw.random() < 0.3:
        place = draw.randrange(1, 30)
        overrides.append(
            f"{draw.choice(OVERRIDES)[:place]}{draw.choice(('=', '.', '[1', '1e999', 'a' * 400))}"
        )
    scenario = load_scenario(path, overrides)
    scenario.capacity()
    scenario.coefficients()
    scenario.to_toml().encode()


def _measured_seeds() -> list[tuple[str, bytes]]:
    recorded = _files(*sorted(each for each in SMALL.iterdir() if each.suffix != ".md"))
    return [*recorded, ("requests.csv", REQUESTS), ("forward.json", FORWARD)]


def _read_measured(path: Path, draw: random.Random) -> None:
    if path.name == "requests.csv":
        read_requests(path)
        return
    if path.name == "forward.json":
        read_forward(path)
        return
    for file in SMALL.iterdir():
        if file.name != path.name:
            (path.parent / file.name).write_bytes(file.read_bytes())
    run = load_run(path.parent)
    summarise(run)
    account(run)


def _published_seeds() -> list[tuple[str, bytes]]:
    return [
        (name, text.encode())
        for name, text in {**FILES, "study.toml": FILES["study.toml"] + TABLES}.items()
        if "/" not in name
    ] + [(f"example-{path.name}", path.read_bytes()) for path in sorted(EXAMPLE.glob("*.*"))]


def _read_published(path: Path, draw: random.Random) -> None:
    damaged = path.read_bytes()
    if path.name.startswith("example-"):
        write_example(path.parent)
        path = path.with_name(path.name.removeprefix("example-"))
    else:
        write_cluster(path.parent)
    path.write_bytes(damaged)
    cluster = read_cluster(str(path.parent))
    points(cluster.few_places(cluster.dynamic_rows()))
    for score in cluster.static_scores():
        band(score.target).encode()


TARGETS = {
    "traces": Target(_trace_seeds, _read_trace),
    "transcripts": Target(transcripts.seeds, transcripts.read),
    "scenarios": Target(_scenario_seeds, _read_scenario),
    "measured": Target(_measured_seeds, _read_measured),
    "published": Target(_published_seeds, _read_published),
}
