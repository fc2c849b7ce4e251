"""Logical messages as a second kind of outbox."""

import json

from support import envelope

TABLE = """CREATE TABLE outbox (id text PRIMARY KEY, aggregate_type text NOT NULL, aggregate_id text NOT NULL,
    event_type text NOT NULL, payload jsonb)"""


def emit(cursor, prefix, content, transactional=True):
    cursor.execute("SELECT pg_logical_emit_message(%s, %s, %s::bytea)", (transactional, prefix, content))


def json_event(event_id, **more):
    return json.dumps({"event_id": event_id, "event_type": "Placed", "aggregate_id": "k", **more}).encode()


# Would catch: messages in another order than the rows around them, a rolled back or non-transactional
# message that is published, a message of another prefix, an index that leaves one kind out.
def test_messages_and_rows_in_one_order(database, kafka, reader, new_topic, new_relay):
    topic = new_topic(kafka, partitions=1)
    database.run(TABLE)
    database.create_slot("relay", "outbox")
    relay = new_relay(database, kafka, topic, sections={"source": {"message_prefixes": ["outbox", "orders"]}}).start()
    ready = envelope.serialize(event_id="3", event_type="Shipped", aggregate_type="parcel", aggregate_id="k",
                               payload=b"\x00\xff", content_type="application/x-thing")
    with database.transaction() as cursor:
        emit(cursor, "outbox", json_event("1", payload={"n": 1}))
        cursor.execute("INSERT INTO outbox VALUES ('2', 'order', 'k', 'Placed', '{}')")
        emit(cursor, "elsewhere", json_event("never"))
        emit(cursor, "orders", ready)
        emit(cursor, "outbox", json_event("never"), transactional=False)
        cursor.execute("SAVEPOINT s")
        emit(cursor, "outbox", json_event("never"))
        cursor.execute("ROLLBACK TO s")
        emit(cursor, "outbox", json_event("4", aggregate_type="order", schema_version=2))
    database.wait_confirmed("relay")

    messages = [envelope.parse(record.value) for record in reader.read(topic)]
    assert [message.event_id for message in messages] == ["1", "2", "3", "4"]
    assert [message.source.index for message in messages] == [0, 1, 2, 3]
    assert [message.source.WhichOneof("origin") for message in messages] == [
        "message_prefix", "relation", "message_prefix", "message_prefix"]
    assert [message.aggregate_type for message in messages] == ["outbox", "order", "parcel", "order"]
    assert messages[0].payload == b'{"n": 1}' and messages[0].content_type == "application/json"
    assert messages[2].payload == b"\x00\xff" and messages[2].content_type == "application/x-thing"
    assert messages[2].source.message_prefix == "orders"
    assert messages[3].schema_version == 2
    relay.check_alive()


# Would catch: a relay that needs a table, or confirms nothing without one.
def test_messages_alone(database, kafka, reader, new_topic, new_relay):
    topic = new_topic(kafka, partitions=1)
    database.run("CREATE PUBLICATION relay WITH (publish = 'insert')")
    database.run("SELECT pg_create_logical_replication_slot('relay', 'pgoutput')")
    new_relay(database, kafka, topic, table=[], sections={"source": {"message_prefixes": ["outbox"]}}).start()
    for number in range(100):
        with database.transaction() as cursor:
            emit(cursor, "outbox", json_event(str(number)))
    database.wait_confirmed("relay")
    assert [envelope.parse(record.value).event_id for record in reader.read(topic)] == [str(n) for n in range(100)]


# Would catch: an unreadable message that is skipped, or stops the relay without naming it.
def test_an_unreadable_message_is_poison(database, kafka, new_topic, new_relay):
    topic = new_topic(kafka, partitions=1)
    database.run(TABLE)
    database.create_slot("relay", "outbox")
    relay = new_relay(database, kafka, topic, sections={"source": {"message_prefixes": ["outbox"]}}).start()
    before = database.confirmed("relay")
    with database.transaction() as cursor:
        emit(cursor, "outbox", b"{broken")
    assert relay.wait_exit() == 65
    assert "logical message of prefix 'outbox' isn't well-formed JSON" in relay.log()
    assert database.confirmed("relay") <= before + 1024 * 1024
