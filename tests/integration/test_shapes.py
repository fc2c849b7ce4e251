"""The happy path: rows of real teams' outbox tables become envelopes, with key, headers and topic."""

import datetime
import json
import uuid

from support import envelope
from support.kafka import create_topic
from support.relay import run_verb

SHAPE_A = """
CREATE SCHEMA events;
CREATE TABLE events.outbox (
    id              bigserial PRIMARY KEY,
    aggregate_type  text NOT NULL,
    aggregate_id    uuid NOT NULL,
    event_type      text NOT NULL,
    payload         jsonb NOT NULL,
    occurred_at     timestamptz NOT NULL DEFAULT now(),
    published_at    timestamptz,
    retry_count     integer NOT NULL DEFAULT 0,
    last_error      text,
    next_retry_at   timestamptz
)"""

SHAPE_B = """
CREATE TABLE outbox_events (
    event_id          uuid PRIMARY KEY,
    event_type        varchar(100) NOT NULL,
    schema_version    integer,
    aggregate_type    varchar(50) NOT NULL,
    aggregate_id      bigint NOT NULL,
    aggregate_version bigint NOT NULL,
    payload           text NOT NULL,
    status            varchar(20) NOT NULL DEFAULT 'PENDING',
    retry_count       integer NOT NULL DEFAULT 0,
    last_error        text,
    occurred_at       timestamptz NOT NULL,
    locked_at         timestamptz,
    published_at      timestamptz
)"""

OCCURRED = datetime.datetime(2024, 2, 29, 12, 34, 56, 789012, tzinfo=datetime.timezone.utc)


def headers_of(record):
    return dict(record.headers)


def check_source(database, record, message, relation, index):
    """What every envelope and record says about where it comes from."""
    source = message.source
    assert source.database == database.name
    assert source.relation == relation
    assert source.index == index
    assert source.xid > 0 and source.timeline == 1
    assert source.system_identifier == int(database.value("SELECT system_identifier FROM pg_control_system()"))
    assert headers_of(record)["walpost-lsn"].decode() == f"{source.commit_lsn:016X}-{index:08X}"
    assert headers_of(record)["id"].decode() == message.event_id
    assert headers_of(record)["eventType"].decode() == message.event_type
    assert "content-type" in headers_of(record)
    assert record.timestamp == source.committed_at.ToMilliseconds(), "the record's timestamp is the commit time"


def read_one_by_one(reader, topic):
    """(record, envelope) pairs in commit order; the topics here have one partition."""
    return [(record, envelope.parse(record.value)) for record in reader.read(topic)]


# Would catch: columns that are found by place rather than by name, a uuid or timestamp decoded wrongly from
# binary, a version or metadata object of the JSON payload that is not looked at, jsonb text that is rewritten.
def test_shape_a(database, kafka, reader, new_topic, new_relay):
    topic = new_topic(kafka, partitions=1)
    database.run(SHAPE_A)
    database.create_slot("relay", "events.outbox")
    relay = new_relay(database, kafka, topic, table="events.outbox").start()
    aggregate = str(uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF))
    payload = json.dumps({"version": 3, "data": {"b": 1.50, "a": "é"},
                          "metadata": {"causation_id": "cause-1", "correlation_id": "corr-1"}})
    with database.transaction() as cursor:
        for event_type in ("Opened", "Closed"):
            cursor.execute("INSERT INTO events.outbox (aggregate_type, aggregate_id, event_type, payload, occurred_at) "
                           "VALUES ('account', %s, %s, %s, %s)", (aggregate, event_type, payload, OCCURRED))
    database.wait_confirmed("relay")

    rows = database.rows("SELECT id::text, event_type, payload::text FROM events.outbox ORDER BY id")
    records = read_one_by_one(reader, topic)
    assert len(records) == len(rows) == 2
    for index, ((record, message), (row_id, event_type, text)) in enumerate(zip(records, rows)):
        check_source(database, record, message, "events.outbox", index)
        assert record.key.decode() == aggregate
        assert (message.event_id, message.event_type, message.aggregate_type, message.aggregate_id) == (
            row_id, event_type, "account", aggregate)
        assert message.payload.decode() == text
        assert message.schema_version == 3
        assert (message.causation_id, message.correlation_id) == ("cause-1", "corr-1")
        assert message.occurred_at.ToMicroseconds() == int(OCCURRED.timestamp() * 1_000_000)
    relay.check_alive()


# Would catch: integers read with the wrong width or sign, a NULL taken for 0, text JSON that is reformatted,
# the poller's columns mistaken for ours.
def test_shape_b(database, kafka, reader, new_topic, new_relay):
    topic = new_topic(kafka, partitions=1)
    database.run(SHAPE_B)
    database.create_slot("relay", "outbox_events")
    new_relay(database, kafka, topic, table="public.outbox_events").start()
    rows = [(str(uuid.uuid4()), 7, -5, 1, '{"x":  1,"x": 2}'), (str(uuid.uuid4()), None, 2**62, 2**40, "not JSON at all")]
    with database.transaction() as cursor:
        for event_id, schema_version, aggregate_id, aggregate_version, payload in rows:
            cursor.execute(
                "INSERT INTO outbox_events (event_id, event_type, schema_version, aggregate_type, aggregate_id, "
                "aggregate_version, payload, occurred_at) VALUES (%s, 'Moved', %s, 'stock', %s, %s, %s, %s)",
                (event_id, schema_version, aggregate_id, aggregate_version, payload, OCCURRED))
    database.run("UPDATE outbox_events SET status = 'PUBLISHED'")
    database.wait_confirmed("relay")

    records = read_one_by_one(reader, topic)
    assert len(records) == 2
    for index, ((record, message), row) in enumerate(zip(records, rows)):
        event_id, schema_version, aggregate_id, aggregate_version, payload = row
        check_source(database, record, message, "public.outbox_events", index)
        assert record.key.decode() == message.aggregate_id == str(aggregate_id)
        assert (message.event_id, message.event_type, message.aggregate_type) == (event_id, "Moved", "stock")
        assert message.aggregate_version == aggregate_version
        assert message.HasField("schema_version") == (schema_version is not None)
        assert message.payload.decode() == payload


# Would catch: `walpost setup` that makes something `walpost run` does not take; the default topic template;
# events of one transaction in another order than their rows.
def test_shape_d_made_by_setup(database, kafka, reader, new_relay):
    slot = f"setup_{database.name}"
    kinds = [f"{database.name}-order", f"{database.name}-invoice"]
    for kind in kinds:
        create_topic(kafka, f"outbox.event.{kind}", 1)
    arguments = ["setup", "--dsn", database.dsn, "--slot", slot, "--publication", slot, "--table", "public.outbox",
                 "--create-table", "D"]

    printed = run_verb(*arguments)
    assert printed.returncode == 0, printed.stderr
    assert "CREATE PUBLICATION" in printed.stdout and "pg_create_logical_replication_slot" in printed.stdout
    assert database.slot(slot) is None, "without --apply nothing is created"

    applied = run_verb(*arguments, "--apply")
    assert applied.returncode == 0, applied.stderr
    assert database.slot(slot) is not None

    new_relay(database, kafka, slot=slot).start()
    ids = [str(uuid.uuid4()) for _ in range(6)]
    with database.transaction() as cursor:
        for number, event_id in enumerate(ids):
            cursor.execute("INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload) "
                           "VALUES (%s, %s, %s, %s, %s)", (event_id, kinds[number % 2], f"key {number}", f"Event{number}",
                                                           json.dumps({"number": number})))
    database.wait_confirmed(slot)

    for remainder, kind in enumerate(kinds):
        records = read_one_by_one(reader, f"outbox.event.{kind}")
        assert [message.event_id for _, message in records] == ids[remainder::2]
        for place, (record, message) in enumerate(records):
            number = remainder + 2 * place
            check_source(database, record, message, "public.outbox", number)
            assert record.key.decode() == message.aggregate_id == f"key {number}"
            assert json.loads(message.payload) == {"number": number}


# Would catch: a value that is not the payload's exact bytes with format.value = "payload".
def test_payload_format(database, kafka, reader, new_topic, new_relay):
    topic = new_topic(kafka, partitions=1)
    database.run(SHAPE_B)
    database.create_slot("relay", "outbox_events")
    new_relay(database, kafka, topic, table="public.outbox_events", sections={"format": {"value": "payload"}}).start()
    event_id = str(uuid.uuid4())
    database.run("INSERT INTO outbox_events (event_id, event_type, schema_version, aggregate_type, aggregate_id, "
                 "aggregate_version, payload, occurred_at) VALUES (%s, 'Moved', 7, 'stock', 11, 12, %s, %s)",
                 (event_id, '{"x":  1}', OCCURRED))
    database.wait_confirmed("relay")
    record, = reader.read(topic)
    headers = {name: value.decode() for name, value in record.headers}
    assert record.value == b'{"x":  1}'
    assert (headers["id"], headers["eventType"], headers["aggregateType"]) == (event_id, "Moved", "stock")
    assert (headers["aggregateVersion"], headers["schemaVersion"]) == ("12", "7")
