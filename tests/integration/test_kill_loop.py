"""kill -9 under load: the guarantee that everything else rests on."""

import os
import random

from support.load import Load
from support.scenario import Scenario

ROUNDS = int(os.environ.get("WALPOST_KILL_ROUNDS") or 10)
SEED = int(os.environ.get("WALPOST_SEED") or 20240229)


# Would catch: a confirmation before the acknowledgement (lost events), a start from anywhere but the slot's
# position (lost, or needlessly repeated), rows of open transactions published (phantoms), retries that pass
# each other (order).
def test_kill_loop(database, kafka, topic, new_relay, reader):
    print(f"WALPOST_SEED={SEED} WALPOST_KILL_ROUNDS={ROUNDS}")
    rng = random.Random(SEED)
    scenario = Scenario(Load(database, seed=SEED), database, topic, reader)
    relay = new_relay(database, kafka, topic)
    scenario.load.start()
    for number in range(ROUNDS):
        # Most are killed in mid-stream, after so many more records; some while they start.
        relay.start(ready=False)
        target = scenario.delivered_count() + rng.choice([0, 1, rng.randint(2, 100), rng.randint(100, 2000)])
        relay.wait(lambda: scenario.delivered_count() >= target, 90, f"round {number}: {target} records at the broker")
        relay.kill9()
        scenario.note_restart()
    relay.start()
    report = scenario.finish(relay)
    assert report.committed > 100 * min(ROUNDS, 10), "too little load to mean anything"
    assert relay.terminate() == 0
