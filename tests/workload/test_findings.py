"""What is said of a trace."""

from sim.workload.findings import Findings


def test_what_was_dropped_or_fixed_is_counted_and_said() -> None:
    findings = Findings()
    findings.drop("rows dropped", 2)
    findings.fix("rows mended", 1)
    findings.say("tools", 3)
    findings.drop("rows lost", 0)
    findings.fix("rows bent", 0)
    assert (dict(findings.dropped), dict(findings.fixed)) == ({"rows dropped": 2}, {"rows mended": 1})
    assert findings.notes == ["rows dropped: 2", "rows mended: 1", "tools: 3"]
