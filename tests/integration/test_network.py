"""The line between relay and Postgres: watched, cut, slowed, swallowed."""

import random
import signal

import pytest

from support import envelope
from support.load import Load
from support.proxy import flushes, through
from support.scenario import SLOT, Scenario

SEED = 4711


@pytest.fixture
def database(private_database):
    return private_database


@pytest.fixture
def scenario(database, topic, reader):
    return Scenario(Load(database, SEED), database, topic, reader)


# Would catch: any confirmation that runs ahead of the broker, although no crash follows that would show it.
def test_nothing_is_confirmed_before_the_broker_has_it(scenario, postgres_proxy, database, kafka, topic, reader, new_reader, new_relay):
    watcher = new_reader(kafka)
    statuses = []

    def watch(direction, data, _):
        for flush in flushes(data) if direction == "up" else []:
            if not statuses or statuses[-1][0] != flush:
                statuses.append((flush, watcher.end_offsets(topic)))
        return data
    relay = new_relay(database, kafka, topic, sections=through(postgres_proxy, database)).start()
    postgres_proxy.watch = watch
    scenario.load.start()
    scenario.more_delivered(relay, 3000, "records under watch")
    report = scenario.finish(relay)
    assert not report.duplicates
    assert relay.terminate() == 0
    places = [(record.partition, record.offset, envelope.parse(record.value).source.commit_lsn) for record in reader.read(topic)]
    confirmed_with_events = 0
    for flush, ends in statuses:
        below = [(partition, offset) for partition, offset, commit_lsn in places if commit_lsn < flush]
        confirmed_with_events += bool(below)
        for partition, offset in below:
            assert ends[partition] > offset, f"flush {flush:X} was said before offset {offset} was at the broker"
    assert confirmed_with_events > 5, "the watch saw nothing"


# Would catch: a frame that is lost or read twice when the line breaks inside of it.
def test_cut_anywhere_costs_nothing(scenario, postgres_proxy, database, kafka, topic, new_relay):
    rng = random.Random(SEED)
    relay = new_relay(database, kafka, topic, sections=through(postgres_proxy, database)).start()
    scenario.load.start()
    for number in range(8):
        before = postgres_proxy.cuts
        postgres_proxy.cut_after = rng.randrange(1, 60_000)
        relay.wait(lambda: postgres_proxy.cuts > before, 60, f"cut {number}")
        scenario.more_delivered(relay, 100, f"records after cut {number}")
    report = scenario.finish(relay)
    assert not report.duplicates, report
    assert relay.terminate() == 0


# Would catch: a decoder that needs a message in one piece, a status that waits for the end of one.
def test_a_line_that_drips(scenario, postgres_proxy, database, kafka, topic, new_relay):
    database.run(f"ALTER DATABASE {database.name} SET wal_sender_timeout = '5s'")
    postgres_proxy.chunk = 3
    relay = new_relay(database, kafka, topic, sections=through(postgres_proxy, database)).start()
    pid = database.slot(SLOT)["active_pid"]
    scenario.load.start()
    scenario.more_delivered(relay, 500, "records in drops")
    report = scenario.finish(relay)
    assert not report.duplicates
    assert database.slot(SLOT)["active_pid"] == pid, "the server never lost patience"
    assert relay.terminate() == 0


# Would catch: a relay that waits for ever on a line that leads nowhere, in one direction or both.
@pytest.mark.parametrize("ways", [{"up", "down"}, {"up"}, {"down"}], ids=["both", "up", "down"])
def test_black_hole(ways, scenario, postgres_proxy, database, kafka, topic, new_relay):
    database.run(f"ALTER DATABASE {database.name} SET wal_sender_timeout = '5s'")
    relay = new_relay(database, kafka, topic, sections=through(postgres_proxy, database)).start()
    scenario.load.start()
    scenario.more_delivered(relay, 200, "records before")
    scenario.note_fault()
    postgres_proxy.swallow = ways
    relay.wait(lambda: not relay.is_ready(), 60, "notices")
    postgres_proxy.swallow = set()
    postgres_proxy.reset()
    relay.wait_ready(60)
    scenario.more_delivered(relay, 200, "records after")
    scenario.finish(relay)
    assert relay.terminate() == 0


# Would catch: a relay that was stopped for longer than the server waits, and goes on as if nothing was.
def test_stopped_process(scenario, database, kafka, topic, new_relay):
    database.run(f"ALTER DATABASE {database.name} SET wal_sender_timeout = '3s'")
    relay = new_relay(database, kafka, topic).start()
    scenario.load.start()
    scenario.more_delivered(relay, 200, "records before")
    relay.process.send_signal(signal.SIGSTOP)
    try:
        database.wait_inactive(SLOT, 30)
        scenario.note_fault()
    finally:
        relay.process.send_signal(signal.SIGCONT)
    scenario.more_delivered(relay, 200, "records after")
    scenario.finish(relay)
    assert relay.terminate() == 0


# Would catch: a relay that stops saying its status while it doesn't read: the server would give it up.
def test_a_full_window_keeps_the_walsender(scenario, database, private_kafka, new_topic, new_reader, new_relay):
    database.run(f"ALTER DATABASE {database.name} SET wal_sender_timeout = '3s'")
    topic = new_topic(private_kafka.bootstrap)
    scenario.topic, scenario.reader = topic, new_reader(private_kafka.bootstrap)
    relay = new_relay(database, private_kafka.bootstrap, topic, sections={"delivery": {"max_inflight_messages": 50}}).start()
    scenario.load.start()
    scenario.more_delivered(relay, 200, "records before")
    private_kafka.stop()
    try:
        relay.wait(lambda: (relay.metric("walpost_inflight_messages") or 0) >= 50, 30, "the window is full")
        pid = database.slot(SLOT)["active_pid"]
        sent = relay.metric("walpost_status_updates_sent_total")
        relay.wait(lambda: relay.metric("walpost_status_updates_sent_total") >= sent + 10, 60, "ten more statuses")
        assert database.slot(SLOT)["active_pid"] == pid
    finally:
        private_kafka.start()
    relay.wait_ready(90)
    scenario.finish(relay)
    assert relay.terminate() == 0


# Would catch: a position that is trusted after a crash set the slot's back, or not remembered: events that
# were delivered and confirmed would come again.
def test_crash_of_postgres_costs_no_duplicate(private_postgres, database, kafka, topic, reader, new_relay):
    scenario = Scenario(Load(database, SEED), database, topic, reader)
    relay = new_relay(database, kafka, topic).start()
    scenario.load.start()
    scenario.more_delivered(relay, 500, "records before the crash")
    scenario.load.stop()
    database.wait_confirmed(SLOT)
    private_postgres.stop("immediate")
    private_postgres.start()
    database.close()
    relay.wait(lambda: relay.state() == "streaming", 60, "streams again")
    report = scenario.finish(relay)
    assert not report.duplicates, report
    assert relay.terminate() == 0
