"""A release more touches the list of releases and the files of the rules that it changed: tried on a copy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recipes import copied

RUN = ["--set", "engine.version=0.34", "--set", "workload.sessions=2", "--set", "workload.turns=2"]
RULE_SET = "sim/engine/rule_set.py"
THRESHOLD = "sim/engine/rules/prefill_threshold.py"
CHANGES = {
    RULE_SET: ('Literal["0.28", "0.33"]', 'Literal["0.28", "0.33", "0.34"]'),
    THRESHOLD: (
        '    if version == "0.28":\n        return PrefillThreshold(tokens)\n',
        '    if version == "0.28":\n        return PrefillThreshold(tokens)\n'
        '    if version == "0.34":\n        return PrefillThreshold(2 * tokens)\n',
    ),
}
"""A made-up 0.34: 0.33, but twice the threshold, of every request."""
TRIED = """
from sim.measured.releases import Release
from sim.scenario.load import load_scenario
from sim.simulation.versions import versions_of
from tests.engine.helpers import Prompts
from tests.engine.rules.helpers import build, chunks

for version in ("0.28", "0.33", "0.34"):
    driver = build(version, 40, long_prefill_token_threshold=32, max_num_batched_tokens=128)
    driver.engine.add(Prompts().request(("a", 200)))
    print(version, chunks(driver))
scenario = load_scenario("agg8", ["engine.version=0.34", "engine.rules.retention=0.28"])
print(versions_of(scenario)["engine"])
print(Release("vLLM", "0.34.2", "").rules, Release("vLLM", "0.30.2", "").rules)
"""
FOUND = """\
0.28 [32, 32, 32, 32, 32, 32, 8]
0.33 [128, 72]
0.34 [64, 64, 64, 8]
vLLM 0.34 (but retention of 0.28)
0.34 0.28
"""


@pytest.mark.slow
def test_a_third_release_touches_the_rule_files_alone(tmp_path: Path) -> None:
    copied(tmp_path, [])
    for name, (before, after) in CHANGES.items():
        file = tmp_path / name
        text = file.read_text(encoding="utf-8")
        assert text.count(before) == 1
        file.write_text(text.replace(before, after), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    for arguments in (["-c", TRIED], ["-m", "sim.cli", "run", "agg8", *RUN]):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        if arguments[0] == "-c":
            assert done.stdout == FOUND
        else:
            assert done.stdout.splitlines()[1] == "router Dynamo 1.5, engine vLLM 0.34"
