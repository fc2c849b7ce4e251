"""Faults that the relay survives: a broker that goes, a walsender that ends, a stop in mid-stream."""

import random

import pytest

from support.load import Load
from support.scenario import SLOT, Scenario

SEED = 1729


# Would catch: messages that time out during an outage and are given up, a relay that ends or stays
# unready for good, a confirmation of what never arrived.
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_broker_stopped_and_started(how, database, private_kafka, new_topic, new_reader, new_relay):
    topic = new_topic(private_kafka.bootstrap)
    reader = new_reader(private_kafka.bootstrap)
    scenario = Scenario(Load(database, SEED), database, topic, reader)
    relay = new_relay(database, private_kafka.bootstrap, topic).start()
    scenario.load.start()
    scenario.more_delivered(relay, 500, "records before the outage")
    scenario.note_fault()
    getattr(private_kafka, how)()
    try:
        relay.wait(lambda: not relay.is_ready(), 60, "tells that the sink is not healthy")
        committed = scenario.load.committed_rows + 500
        relay.wait(lambda: scenario.load.committed_rows >= committed, 60, "commits go on during the outage")
    finally:
        private_kafka.start()
    relay.wait_ready(90)
    scenario.more_delivered(relay, 500, "records after the outage")
    scenario.finish(relay)
    assert relay.terminate() == 0


# Would catch: an event loop that sends everything unconfirmed again after each broken connection, although
# the process lives and knows what was acknowledged.
def test_walsender_terminated_leaves_no_duplicates(database, kafka, topic, new_relay, reader):
    rng = random.Random(SEED)
    scenario = Scenario(Load(database, SEED), database, topic, reader)
    relay = new_relay(database, kafka, topic).start()
    scenario.load.start()
    for number in range(5):
        scenario.more_delivered(relay, rng.randint(1, 400), f"round {number}")
        pid = database.slot(SLOT)["active_pid"]
        assert pid is not None
        database.run("SELECT pg_terminate_backend(%s)", (pid,))
        relay.wait(lambda: database.slot(SLOT)["active_pid"] not in (None, pid), 60, "streams again")
    report = scenario.finish(relay)
    assert not report.duplicates, report
    assert relay.terminate() == 0


# Would catch: a stop that leaves delivered events unconfirmed (they would come again), or confirms what was
# only handed to the producer (they would be lost).
def test_stop_under_load_leaves_no_duplicates(database, kafka, topic, new_relay, reader):
    scenario = Scenario(Load(database, SEED), database, topic, reader)
    relay = new_relay(database, kafka, topic)
    scenario.load.start()
    for number in range(4):
        relay.start()
        scenario.more_delivered(relay, 300, f"round {number}")
        assert relay.terminate() == 0, relay.log()[-2000:]
    relay.start()
    report = scenario.finish(relay)
    assert not report.duplicates, report
    assert relay.terminate() == 0


# Would catch: two relays that both deliver; a standby that gives up on a busy slot, reports itself broken,
# or does not take over.
def test_standby_takes_over(database, kafka, topic, new_relay, reader):
    scenario = Scenario(Load(database, SEED), database, topic, reader)
    active = new_relay(database, kafka, topic).start()
    standby = new_relay(database, kafka, topic).start()
    assert (active.state(), standby.state()) == ("streaming", "standby")
    assert [relay.get("/readyz?role=active")[0] for relay in (active, standby)] == [200, 503]
    scenario.load.start()
    scenario.more_delivered(active, 300, "records of the first")
    holder = database.slot(SLOT)["active_pid"]
    standby.check_alive()
    assert standby.state() == "standby"
    # Before the kill: the standby may take over faster than anyone can look at the released slot.
    scenario.note_fault()
    active.kill9()
    standby.wait(lambda: database.slot(SLOT)["active_pid"] not in (None, holder), 60, "takes over")
    scenario.more_delivered(standby, 300, "records of the second")
    assert standby.state() == "streaming"
    scenario.finish(standby)
    assert standby.terminate() == 0
