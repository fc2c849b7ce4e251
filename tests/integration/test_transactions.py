"""What a transaction is: all of it or nothing, at once, whatever its size."""

import os
import json
import uuid

import pytest

from support import envelope
from support.load import TABLE, Load
from support.relay import SANITIZED
from support.scenario import Scenario

SLOT = "relay"


def insert(cursor, event_type, key="k"):
    event_id = str(uuid.uuid4())
    cursor.execute("INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload) VALUES (%s, 'a', %s, %s, %s)",
                   (event_id, key, event_type, json.dumps({})))
    return event_id


@pytest.fixture
def streaming(database, kafka, topic, new_relay):
    """A relay that streams an empty outbox."""
    database.run(TABLE.format(table="outbox"))
    database.create_slot(SLOT, "outbox")
    return new_relay(database, kafka, topic).start()


def event_types(reader, topic):
    return [envelope.parse(record.value).event_type for record in reader.read(topic)]


# Would catch: rows published before their Commit arrived; a savepoint's rows kept after it was undone.
def test_undone_work_is_never_published(database, streaming, reader, topic):
    with pytest.raises(ZeroDivisionError):
        with database.transaction() as cursor:
            insert(cursor, "rolled back")
            raise ZeroDivisionError
    with database.transaction() as cursor:
        insert(cursor, "first")
        cursor.execute("SAVEPOINT outer_one")
        insert(cursor, "undone")
        cursor.execute("SAVEPOINT inner_one")
        insert(cursor, "undone")
        cursor.execute("RELEASE SAVEPOINT inner_one")
        cursor.execute("ROLLBACK TO SAVEPOINT outer_one")
        insert(cursor, "second")
        cursor.execute("SAVEPOINT kept")
        insert(cursor, "third")
        cursor.execute("RELEASE SAVEPOINT kept")
    database.wait_confirmed(SLOT)
    assert event_types(reader, topic) == ["first", "second", "third"]


# Would catch: order by the time of writing rather than of the commit; a transaction's rows torn apart.
def test_interleaved_transactions_arrive_in_commit_order(database, streaming, reader, topic):
    with database.transaction() as first:
        insert(first, "early 1")
        with database.transaction() as second:
            insert(second, "late 1")
            insert(first, "early 2")
            insert(second, "late 2")
    # The inner one committed first.
    database.wait_confirmed(SLOT)
    assert event_types(reader, topic) == ["late 1", "late 2", "early 1", "early 2"]


# Would catch: UPDATE, DELETE and TRUNCATE of the outbox published or stumbled over.
def test_only_inserts_are_events(database, kafka, topic, new_relay, reader):
    database.run(TABLE.format(table="outbox"))
    database.create_slot(SLOT, "outbox")
    database.run("ALTER PUBLICATION relay SET (publish = 'insert, update, delete, truncate')")
    new_relay(database, kafka, topic).start()
    with database.transaction() as cursor:
        insert(cursor, "one")
        cursor.execute("UPDATE outbox SET published_at = now()")
        cursor.execute("DELETE FROM outbox")
        insert(cursor, "two")
        cursor.execute("TRUNCATE outbox")
    database.wait_confirmed(SLOT)
    assert event_types(reader, topic) == ["one", "two"]


# Would catch: a transaction collected in memory before it is sent; an index that starts again with each batch;
# a release before the last batch.
# WALPOST_LARGE_ROWS makes it larger.
def test_large_transaction(database, streaming, reader, topic):
    rows = int(os.environ.get("WALPOST_LARGE_ROWS") or 100_000)
    database.run(f"ALTER DATABASE {database.name} SET wal_sender_timeout = '5s'")
    before = database.slot(SLOT)
    database.run("INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload) "
                 "SELECT gen_random_uuid(), 'a', 'key ' || n %% 97, 'n' || n, "
                 "jsonb_build_object('n', n, 'pad', repeat('x', 1000)) FROM generate_series(0, %s) n", (rows - 1,))
    target = database.current_lsn()
    seen = []

    def confirmed():
        seen.append((database.confirmed(SLOT), streaming.metric("walpost_messages_delivered_total")))
        return seen[-1][0] >= target
    streaming.wait(confirmed, 600, "confirms the transaction")
    peak = streaming.peak_memory()
    assert database.slot(SLOT)["active_pid"] == before["active_pid"], "the walsender never gave up"
    print(f"{rows} rows of a kB: peak memory {peak >> 20} MiB")

    latest = {}
    indexes = set()
    for record in reader.read(topic):
        message = envelope.parse(record.value)
        number = int(message.event_type[1:])
        assert message.source.index == number
        assert latest.get(record.partition, -1) < number
        latest[record.partition] = number
        indexes.add(number)
    assert reader.count(topic) == rows and indexes == set(range(rows))
    for position, delivered in seen:
        assert position <= message.source.commit_lsn or delivered == rows, "confirmed at its end, and not before"
    if not SANITIZED:
        assert peak < 64 << 20, f"{peak >> 20} MiB for a transaction of {rows / 1000:.0f} MB"


# Would catch: any loss, disorder or duplicate under concurrent writers, without a fault.
def test_concurrent_writers_without_a_fault(database, kafka, topic, new_relay, reader):
    scenario = Scenario(Load(database, seed=1, rows=20_000, pause=0), database, topic, reader)
    relay = new_relay(database, kafka, topic).start()
    scenario.load.start()
    scenario.load.join()
    report = scenario.finish(relay)
    assert report.committed >= 20_000 and not report.duplicates
    assert relay.terminate() == 0
