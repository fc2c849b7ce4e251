"""The same relay on every Postgres from 14 to 18 (15 is what all other tests run on)."""

import os
import uuid

import pytest

from support import envelope
from support.postgres import TempPostgres
from support.relay import run_verb

MAJORS = [14, 16, 17, 18]

# Every type that a field or payload may have, in a table that changes while it is read.
TABLE = """
CREATE EXTENSION IF NOT EXISTS citext;
CREATE TYPE kind AS ENUM ('Placed', 'Shipped');
CREATE DOMAIN key AS varchar(40);
CREATE TABLE outbox (
    id uuid PRIMARY KEY, aggregate_type citext NOT NULL, aggregate_id key, event_type kind NOT NULL,
    aggregate_version int8, schema_version int2, payload jsonb, occurred_at timestamptz, headers json,
    content_type char(20), correlation_id numeric, causation_id date, traceparent text, tracestate text[])"""


@pytest.fixture(scope="module", params=MAJORS)
def server(request):
    cluster = TempPostgres(version=request.param)
    yield cluster
    cluster.drop()


@pytest.fixture
def database(server):
    database = server.database()
    yield database
    database.drop()


def insert(cursor, number, event_type="Placed"):
    event_id = str(uuid.UUID(int=number))
    cursor.execute("INSERT INTO outbox VALUES (%s, 'order', %s, %s, %s, 7, %s, '2024-02-29 12:34:56.789+00', "
                   "'{\"x-a\": \"b\"}', 'application/json', 1.50, '2024-02-29', 'tp', '{a,\"b c\"}')",
                   (event_id, f"key {number}", event_type, 2**40 + number, f'{{"n": {number}}}'))
    return event_id


def columns(text):
    """What contrib the packages lack: without citext the column is text."""
    return text.replace("CREATE EXTENSION IF NOT EXISTS citext;", "").replace("citext", "text")


# Would catch: a message or column that a version says differently; a setting that one of them refuses.
def test_a_stream_of_every_version(server, database, kafka, reader, new_topic, new_relay):
    topic = new_topic(kafka, partitions=1)
    database.run(columns(TABLE))
    database.create_slot("relay", "outbox")
    relay = new_relay(database, kafka, topic, sections={"source": {"message_prefixes": ["outbox"]}}).start()
    wanted = []
    with database.transaction() as cursor:
        wanted.append(insert(cursor, 1))
        cursor.execute("SELECT pg_logical_emit_message(true, 'outbox', "
                       "'{\"id\": \"m\", \"type\": \"Said\", \"aggregate_id\": \"k\"}')")
        wanted.append("m")
        cursor.execute("ALTER TABLE outbox ADD COLUMN extra int DEFAULT 5")
        wanted.append(insert(cursor, 2, "Shipped"))
    with database.transaction() as cursor:
        insert(cursor, 3)
        cursor.execute("ROLLBACK")
    pid = database.slot("relay")["active_pid"]
    database.run("SELECT pg_terminate_backend(%s)", (pid,))
    with database.transaction() as cursor:
        cursor.execute("ALTER TABLE outbox DROP COLUMN extra")
        wanted.append(insert(cursor, 4))
    database.wait_confirmed("relay")

    records = reader.read(topic)
    messages = [envelope.parse(record.value) for record in records]
    assert [message.event_id for message in messages] == wanted
    first = messages[0]
    assert (first.event_type, first.aggregate_type, first.aggregate_id) == ("Placed", "order", "key 1")
    assert (first.aggregate_version, first.schema_version) == (2**40 + 1, 7)
    assert first.payload == b'{"n": 1}' and first.content_type == "application/json"
    assert (first.correlation_id, first.causation_id, first.tracestate) == ("1.50", "2024-02-29", '{a,"b c"}')
    assert first.occurred_at.ToMicroseconds() == 1709210096789000
    assert messages[2].event_type == "Shipped"
    assert relay.terminate() == 0


# Would catch: a catalogue query that one version refuses.
def test_setup_and_check(server, database, kafka, topic, tmp_path):
    arguments = ["--dsn", database.dsn, "--slot", "made", "--publication", "made", "--table", "public.outbox"]
    made = run_verb("setup", *arguments, "--create-table", "D", "--apply")
    assert made.returncode == 0, made.stderr
    checked = run_verb("check", "--dsn", database.dsn, "--set", "source.slot=made", "--set", "source.publication=made",
                       "--set", "source.table=public.outbox", "--set", f"kafka.brokers={kafka}",
                       "--set", f"routing.topic={topic}", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    peeked = run_verb("peek", "--dsn", database.dsn, "--set", "source.slot=made", "--set", "source.publication=made",
                      "--set", "source.table=public.outbox")
    assert peeked.returncode == 0, peeked.stderr


# Would catch: version 18, where a publication that is missing as of the position decoded is only a warning:
# rows are passed over, and keepalives would be confirmed past them.
def test_a_publication_younger_than_the_slot(server, database, kafka, topic, new_relay):
    database.run(columns(TABLE))
    database.run("SELECT pg_create_logical_replication_slot('relay', 'pgoutput')")
    with database.transaction() as cursor:
        insert(cursor, 1)
    before = database.confirmed("relay")
    database.run("CREATE PUBLICATION relay FOR TABLE outbox WITH (publish = 'insert')")
    relay = new_relay(database, kafka, topic).start(ready=False)
    assert relay.wait_exit(60) == 65, relay.log()
    assert "publication" in relay.log()
    assert database.confirmed("relay") == before
    assert os.path.exists(relay.log_path)
