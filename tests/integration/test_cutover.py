"""Moving over from another relay, step by step as the README says."""

import json
import uuid

from support import envelope
from support.kafka import create_topic


def insert(database, table, numbers):
    for number in numbers:
        database.run(f"INSERT INTO {table} (id, aggregatetype, aggregateid, type, payload) VALUES (%s, %s, %s, 'Placed', %s)",
                     (str(uuid.UUID(int=number)), database.name, f"key {number}", json.dumps({"n": number})))


SHAPE_E = """CREATE TABLE outboxevent (id uuid PRIMARY KEY, aggregatetype varchar(255) NOT NULL,
    aggregateid varchar(255) NOT NULL, type varchar(255) NOT NULL, payload jsonb)"""


# Would catch: a cut-over that loses what Debezium had not read, repeats what it had, or changes what its
# consumers see.
def test_from_debezium(database, kafka, reader, new_relay):
    topic = f"outbox.event.{database.name}"
    create_topic(kafka, topic, 1)
    database.run(SHAPE_E)
    # Debezium's own publication and slot, read by something that speaks for it up to the sixth event.
    database.run("CREATE PUBLICATION dbz_publication FOR ALL TABLES")
    database.run("SELECT pg_create_logical_replication_slot('debezium', 'pgoutput')")
    insert(database, "outboxevent", range(1, 7))
    database.run("SELECT pg_replication_slot_advance('debezium', pg_current_wal_lsn())")
    insert(database, "outboxevent", range(7, 12))

    database.run("SELECT pg_copy_logical_replication_slot('debezium', 'walpost')")
    relay = new_relay(database, kafka, slot="walpost", publication="dbz_publication", table="public.outboxevent",
                      sections={"format": {"value": "payload"}}).start()
    insert(database, "outboxevent", range(12, 15))
    database.wait_confirmed("walpost")
    database.run("SELECT pg_drop_replication_slot('debezium')")

    records = reader.read(topic)
    assert [json.loads(record.value)["n"] for record in records] == list(range(7, 15))
    for number, record in zip(range(7, 15), records):
        headers = {name: value.decode() for name, value in record.headers}
        assert record.key.decode() == f"key {number}"
        assert (headers["id"], headers["eventType"]) == (str(uuid.UUID(int=number)), "Placed")
    assert relay.terminate() == 0


# Would catch: rows that neither the poller nor the relay sends, because each leaves them to the other.
def test_from_a_poller(database, kafka, topic, reader, new_relay):
    database.run("CREATE TABLE outbox (id bigserial PRIMARY KEY, aggregate_type text NOT NULL DEFAULT 'order', aggregate_id "
                 "text NOT NULL, event_type text NOT NULL DEFAULT 'Placed', payload jsonb, published_at timestamptz)")
    polled = []

    def poll():
        polled.extend(row[0] for row in database.rows(
            "UPDATE outbox SET published_at = now() WHERE published_at IS NULL RETURNING id"))

    def add(count):
        for _ in range(count):
            database.run("INSERT INTO outbox (aggregate_id, payload) VALUES ('k', '{}')")
    add(5)
    poll()
    add(3)
    database.create_slot("relay", "outbox")  # from here on the relay has everything
    add(4)
    poll()  # a last time; then the poller is switched off
    add(2)
    relay = new_relay(database, kafka, topic).start()
    database.wait_confirmed("relay")
    relayed = [int(envelope.parse(record.value).event_id) for record in reader.read(topic)]
    assert sorted(relayed) == list(range(9, 15)), "what was committed after the slot was made"
    assert set(polled) | set(relayed) == set(range(1, 15)), "nothing is lost"
    assert set(polled) & set(relayed) == set(range(9, 13)), "twice: only what was committed in between"
    assert relay.terminate() == 0
