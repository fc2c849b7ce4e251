"""walpost-bench on real servers of its own: it measures, and it notices what is wrong."""

import json
import os
import subprocess

import pytest

from support.process import ROOT
from support.relay import binary

BENCH = os.path.join(os.path.dirname(binary()), "walpost-bench")
SMALL = ["--duration", "2", "--warm-up", "0.5", "--backlog", "2000"]


def bench(directory, *arguments, rate=100, rounds=1):
    output = str(directory / "result")
    done = subprocess.run([BENCH, "run", *arguments, *SMALL, "--rate", str(rate), "--rounds", str(rounds), "--tools", os.path.join(ROOT, "tools"), "--output", output],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=280,
                          check=False)
    assert done.returncode in (0, 1), done.stdout
    with open(os.path.join(output, "result.json"), encoding="utf-8") as file:
        return done.returncode, json.load(file), output


def rows(result, scenario):
    found = {}
    for row in result["scenarios"][scenario]:
        assert "error" not in row, row
        found[row["target"]] = row
    return found


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    targets = "walpost,walpost-traced,walpost-slowed,walpost-null,reader-200us,poll-1s-100-claim"
    return bench(tmp_path_factory.mktemp("bench"), "lag", "drain", "--targets", targets, rounds=2)


def test_every_event_of_every_target_is_accounted_for(measured):
    code, result, _ = measured
    assert (code, result["wrong"]) == (0, [])
    for name, row in rows(result, "lag").items():
        check = row["correctness"]
        assert check["delivered"] + check["behind"] == check["committed"] == 250, name
        assert row["lag"]["intended_to_consumer"]["count"] == 200, name  # without warm-up
    for name, row in rows(result, "drain").items():
        assert len(row["rounds"]) == 2, name
        if row["complete"] and name not in ("reader-200us", "walpost-null"):
            assert row["correctness"]["delivered"] == 2000, name


def test_stages_follow_each_other(measured):
    _, result, _ = measured
    row = rows(result, "lag")["walpost-traced"]
    stages = [row["stages"][name]["p50"] for name in ("commit_to_received", "commit_to_produced", "commit_to_acknowledged")]
    assert stages == sorted(stages)
    assert row["stages"]["commit_to_received"]["count"] == 200


def test_a_slowed_relay_is_visible(measured):
    """10 ms a transaction, however short."""
    _, result, _ = measured
    lag = rows(result, "lag")
    assert lag["walpost-slowed"]["lag"]["intended_to_consumer"]["p50"] > 10_000
    drain = rows(result, "drain")
    assert drain["walpost-slowed"]["events_per_second"] * 3 < drain["walpost"]["events_per_second"]


def test_a_poller_costs_its_pause(measured):
    _, result, _ = measured
    lag = rows(result, "lag")
    assert lag["poll-1s-100-claim"]["lag"]["intended_to_consumer"]["p50"] > \
        lag["walpost"]["lag"]["intended_to_consumer"]["p50"]


def test_a_result_compared_with_itself_is_noise(measured):
    _, _, output = measured
    path = os.path.join(output, "result.json")
    done = subprocess.run([BENCH, "compare", path, path], stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    lines = [line for line in done.stdout.splitlines() if "walpost" in line]
    assert lines and all("1.00" in line and line.endswith(("within noise", "one round: unknown")) for line in lines), done.stdout


@pytest.mark.parametrize("scenario", ["lag", "drain"])
def test_a_lossy_relay_is_wrong(tmp_path, scenario):
    code, result, output = bench(tmp_path, scenario, "--targets", "walpost-lossy", rate=1000)
    assert code == 1
    assert rows(result, scenario)["walpost-lossy"]["correctness"]["lost"] > 0
    with open(os.path.join(output, "report.html"), encoding="utf-8") as file:
        assert "WRONG" in file.read()


@pytest.mark.parametrize("arguments, message", [
    (["nonsense"], "no scenario is named 'nonsense'"),
    (["lag", "--targets", "kafka-connect"], "no target is named 'kafka-connect'"),
    (["lag", "--rate", "fast"], "--rate takes"),
    (["lag", "--targets", "cmd:/nonexistent"], "there is no /nonexistent"),
])
def test_a_mistake_is_named(tmp_path, arguments, message):
    done = subprocess.run([BENCH, "run", *arguments, "--tools", os.path.join(ROOT, "tools"), "--output", str(tmp_path)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                          check=False)
    assert done.returncode == (69 if "cmd" in str(arguments) else 64) and message in done.stdout, done.stdout
