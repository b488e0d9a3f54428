"""Fast-forward against stepping: whatever happens, equal rows, equal numbers, equal engines."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.kv.hybrid import KvCache
from sim.kv.offload import LruTier
from sim.results.metrics import to_json
from sim.run import summary_of
from sim.worker.active import ActiveRequest
from sim.worker.connector import OffloadingConnector
from sim.worker.decode_run import commit, decode_run, output_times
from sim.worker.engine import Engine
from sim.worker.scheduler import Limits
from tests.clusters import Pace, RandomCluster, rows, run_cluster, scenario, trace, turn


def everything(cluster):
    """What a run gave, and what it left in its engines, in a form that compares to the last bit."""
    engines = [worker.engine for worker in cluster.workers]
    return {
        "summary": to_json(summary_of(cluster)),
        **{table: rows(cluster, table) for table in cluster.recorder.rows.tables},
        "free queues": [engine.cache.pool.free_queue() for engine in engines],
        "failed stores": [engine.offload.failed_stores if engine.offload else None for engine in engines],
    }


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_fast_forward_changes_nothing(random):
    cluster = RandomCluster(random)
    assert everything(cluster.run(fast_forward=True)) == everything(cluster.run(fast_forward=False))
