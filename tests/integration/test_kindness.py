"""The relay never harms the database: it does not pin WAL, and does not hold up a shutdown."""

import os
import time

import pytest

from support.load import TABLE, Load
from support.postgres import lsn
from support.scenario import SLOT, Scenario

STOP_SECONDS = 5


# Would catch: a slot that moves only with the outbox's own rows, so that busy neighbours fill the disk with WAL.
def test_idle_outbox_with_busy_neighbours(database, kafka, topic, new_relay, reader):
    database.run(TABLE.format(table="outbox"))
    database.create_slot(SLOT, "outbox")
    database.run("CREATE TABLE neighbour (n bigint, pad text)")
    relay = new_relay(database, kafka, topic).start()
    start = database.confirmed(SLOT)
    for _ in range(int(os.environ.get("WALPOST_IDLE_ROUNDS") or 3)):
        database.run("INSERT INTO neighbour SELECT n, repeat('x', 500) FROM generate_series(1, 10000) n")
        target = database.current_lsn()
        relay.wait(lambda: database.confirmed(SLOT) >= target, 30, "the slot follows")
    assert database.confirmed(SLOT) - start > 10 << 20
    assert lsn(relay.status()["confirmed_lsn"]) >= target
    assert reader.count(topic) == 0


@pytest.fixture
def stoppable(private_postgres, private_kafka, new_topic, new_reader):
    """A scenario on a Postgres and a Kafka that may be stopped; the load is not started."""
    database = private_postgres.database()
    topic = new_topic(private_kafka.bootstrap)
    yield Scenario(Load(database, seed=3), database, topic, new_reader(private_kafka.bootstrap))
    database.drop()


def fill(database, transactions, rows, size):
    """Transactions beside the load, in the form that its verifier knows: each row has a key of its own."""
    for number in transactions:
        database.run(
            "INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload) "
            "SELECT gen_random_uuid(), 'load', format('fill-%%s-%%s', %(t)s, n), 'happened', jsonb_build_object("
            "'writer', 'fill', 'txno', %(t)s, 'seq', 1, 'pos', n, 'pad', repeat('x', %(size)s)) "
            "FROM generate_series(0, %(last)s) n", {"t": number, "last": rows - 1, "size": size})


def wait_unread(database, relay):
    """Until the walsender has not got rid of anything for a while: the stream is no longer read."""
    history = []

    def stuck():
        history.append(database.value("SELECT sent_lsn::text FROM pg_stat_replication WHERE pid = %s",
                                      (database.slot(SLOT)["active_pid"],)))
        return len(history) > 50 and len(set(history[-50:])) == 1
    relay.wait(stuck, 60, "stops reading")


# Would catch: an ordinary session kept open for ever, for which a smart shutdown waits; of a relay that streams, and of
# one that stands by.
def test_smart_shutdown(stoppable, private_postgres, private_kafka, new_relay):
    database = stoppable.database
    relays = [new_relay(database, private_kafka.bootstrap, stoppable.topic) for _ in range(2)]
    relays[0].start()
    relays[1].start(ready=False)
    relays[1].wait(lambda: relays[1].state() == "standby", 30, "stands by")
    database.close()
    try:
        private_postgres.stop("smart", timeout=45)
        for relay in relays:
            relay.check_alive()
            assert relay.terminate() == 0
    finally:
        private_postgres.start()


# Would catch: a walsender that waits for confirmations which a broker outage holds back, for ever (the shutdown
# hangs, with a storm of keepalives); and with a full window, a relay that no longer reads and so never hears of it.
@pytest.mark.parametrize("window", ["open", "full"])
def test_fast_shutdown_with_the_broker_down(window, stoppable, private_postgres, private_kafka, new_relay):
    database = stoppable.database
    limit = 100
    relay = new_relay(database, private_kafka.bootstrap, stoppable.topic, sections={
        "delivery": {"max_inflight_messages": limit if window == "full" else 100_000}})
    relay.start()
    # Enough keys that every partition has acknowledged once: before that it takes one message at a time.
    fill(database, [0], 200, 10)
    database.wait_confirmed(SLOT)
    stoppable.note_fault()
    private_kafka.stop()
    try:
        before = database.current_lsn()
        if window == "open":
            fill(database, range(1, 6), 10, 100)
            target = database.current_lsn()
            relay.wait(lambda: lsn(relay.status()["received_lsn"]) >= target, 30, "has read everything")
        else:
            fill(database, range(1, 101), 200, 1000)
            target = database.current_lsn()
            wait_unread(database, relay)
            assert lsn(relay.status()["received_lsn"]) < target
        assert database.confirmed(SLOT) <= before
        database.close()
        started = time.monotonic()
        private_postgres.stop("fast", timeout=30)
        took = time.monotonic() - started
        assert took < STOP_SECONDS, f"pg_ctl stop -m fast took {took:.1f} s"
        relay.check_alive()
    finally:
        private_kafka.start()
        private_postgres.stop("immediate")  # In case it hangs; nothing if it is down.
        private_postgres.start()
    relay.wait_ready(90)
    stoppable.finish(relay)
    assert relay.terminate() == 0
