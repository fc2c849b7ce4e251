"""Outbox tables as they are met: other shapes, partitions, odd names, changes under the stream."""

import json
import threading
import uuid

import pytest

from support import envelope
from support.tables import PLAIN_COLUMNS


@pytest.fixture
def stream(database, kafka, reader, new_topic, new_relay):
    """stream(sql, table, ...) → a relay that streams from a table just made, and what it delivered."""
    class Stream:
        def start(self, sql, table="public.outbox", publication=None, publication_name="relay", **keywords):
            self.topic = new_topic(kafka, partitions=1)
            database.run(sql)
            database.run(publication or f"CREATE PUBLICATION relay FOR TABLE {table} WITH (publish = 'insert')")
            database.run("SELECT pg_create_logical_replication_slot('relay', 'pgoutput')")
            self.relay = new_relay(database, kafka, self.topic, table=table, publication=publication_name, **keywords).start()
            return self.relay

        def delivered(self):
            database.wait_confirmed("relay")
            self.relay.check_alive()
            return [(record, envelope.parse(record.value)) for record in reader.read(self.topic)]

        def records(self):
            return reader.read(self.topic)

        def ids(self):
            return [message.event_id for _, message in self.delivered()]
    return Stream()


SHAPE_C = """CREATE TYPE outbox_event_kind AS ENUM ('CREATED', 'UPDATED', 'DELETED');
CREATE TABLE outbox_event (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event_type {kind} NOT NULL,
    message_id bigint NOT NULL, payload text NOT NULL, processed boolean NOT NULL DEFAULT false,
    retry_count integer NOT NULL DEFAULT 0, created_at timestamptz NOT NULL DEFAULT now())"""


# Would catch: an enum that comes as a number, a smallint without its name, an aggregate type that is missing.
@pytest.mark.parametrize("kind, value", [("outbox_event_kind", "'UPDATED'"), ("varchar(20)", "'UPDATED'"), ("smallint", "1")])
def test_shape_c(kind, value, stream, database):
    source = {"columns": {"aggregate_id": "message_id"}}
    if kind == "smallint":
        source["values"] = {"event_type": {"0": "CREATED", "1": "UPDATED"}}
    stream.start(SHAPE_C.format(kind=kind), "public.outbox_event", sections={"source": source})
    database.run(f"INSERT INTO outbox_event (event_type, message_id, payload) VALUES ({value}, 42, 'text')")
    (record, message), = stream.delivered()
    assert (message.event_type, message.aggregate_type, message.aggregate_id) == ("UPDATED", "outbox_event", "42")
    assert record.key == b"42" and message.payload == b"text" and message.content_type.startswith("text/plain")


# Would catch: Debezium's table read otherwise than its router does: topic, key, payload alone, the header id.
def test_shape_e(stream, database):
    stream.start("""CREATE TABLE outboxevent (id uuid PRIMARY KEY, aggregatetype varchar(255) NOT NULL,
        aggregateid varchar(255) NOT NULL, type varchar(255) NOT NULL, payload jsonb)""", "public.outboxevent",
                 sections={"routing": {"tombstone_on_null_payload": True}, "format": {"value": "payload"}})
    event_id = str(uuid.uuid4())
    database.run("INSERT INTO outboxevent VALUES (%s, 'Order', '7', 'OrderPlaced', '{\"b\": 1, \"a\": null}')", (event_id,))
    database.run("INSERT INTO outboxevent VALUES (gen_random_uuid(), 'Order', '7', 'OrderGone', NULL)")
    database.wait_confirmed("relay")
    records = stream.records()
    assert json.loads(records[0].value) == {"b": 1, "a": None}
    headers = {name: value.decode() for name, value in records[0].headers}
    assert (headers["id"], headers["eventType"]) == (event_id, "OrderPlaced")
    assert records[1].value is None, "a tombstone, since it was asked for"


# Would catch: bytes that are decoded as text, headers of a row that pass without the allow-list.
def test_shape_f(stream, database):
    stream.start("""CREATE TABLE outbox_binary (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregate_type text NOT NULL,
        aggregate_id text NOT NULL, event_type text NOT NULL, schema_version integer NOT NULL DEFAULT 1,
        content_type text NOT NULL DEFAULT 'application/x-protobuf', payload bytea NOT NULL,
        headers jsonb NOT NULL DEFAULT '{}', traceparent text, occurred_at timestamptz NOT NULL DEFAULT clock_timestamp())""",
                 "public.outbox_binary", sections={"routing": {"header_allowlist": ["x-.*"]}})
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    payload = bytes(range(256))
    database.run("INSERT INTO outbox_binary (aggregate_type, aggregate_id, event_type, payload, headers, traceparent) VALUES "
                 "('order', '1', 'Placed', %s, '{\"x-tenant\": \"t1\", \"id\": \"forged\", \"secret\": \"s\"}', %s)", (payload, trace))
    (record, message), = stream.delivered()
    headers = {name: value.decode() for name, value in record.headers}
    assert message.payload == payload and message.content_type == "application/x-protobuf" and message.schema_version == 1
    assert headers["x-tenant"] == "t1" and headers["traceparent"] == trace
    assert headers["id"] == message.event_id and "secret" not in headers
    assert stream.relay.metric("walpost_headers_dropped_total") == 2


PARTITIONED = """CREATE TABLE outbox_partitioned (id uuid NOT NULL DEFAULT gen_random_uuid(), aggregate_type text NOT NULL,
    aggregate_id text NOT NULL, event_type text NOT NULL, payload jsonb NOT NULL, occurred_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, occurred_at)) PARTITION BY RANGE (occurred_at);
CREATE TABLE p1 PARTITION OF outbox_partitioned FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE p2 PARTITION OF outbox_partitioned FOR VALUES FROM ('2021-01-01') TO ('2022-01-01')"""


# Would catch: rows of a partition taken for those of a foreign table, a dropped partition that is an event.
def test_shape_g(stream, database):
    stream.start(PARTITIONED, "public.outbox_partitioned",
                 "CREATE PUBLICATION relay FOR TABLE outbox_partitioned WITH (publish = 'insert', publish_via_partition_root = true)")
    for number, day in enumerate(["2020-05-01", "2021-05-01", "2020-06-01"]):
        database.run("INSERT INTO outbox_partitioned (aggregate_type, aggregate_id, event_type, payload, occurred_at) "
                     "VALUES ('order', %s, 'Placed', '{}', %s)", (str(number), day))
    database.run("DROP TABLE p1")
    database.run("CREATE TABLE p3 PARTITION OF outbox_partitioned FOR VALUES FROM ('2022-01-01') TO ('2023-01-01')")
    database.run("INSERT INTO outbox_partitioned (aggregate_type, aggregate_id, event_type, payload, occurred_at) "
                 "VALUES ('order', '3', 'Placed', '{}', '2022-05-01')")
    delivered = stream.delivered()
    assert [message.aggregate_id for _, message in delivered] == ["0", "1", "2", "3"]
    assert {message.source.relation for _, message in delivered} == {"public.outbox_partitioned"}


# Would catch: a relay that streams nothing for ever, since the rows come under their partitions' names.
def test_partitions_without_their_root(database, kafka, topic, new_relay):
    database.run(PARTITIONED)
    database.create_slot("relay", "outbox_partitioned")
    relay = new_relay(database, kafka, topic, table="public.outbox_partitioned").start(ready=False)
    assert relay.wait_exit(30) == 78
    assert "publish_via_partition_root = true" in relay.log()


# Would catch: the same the other way round, where the root's name is that of every row.
def test_a_partition_under_its_root(database, kafka, topic, new_relay):
    database.run(PARTITIONED)
    database.run("CREATE PUBLICATION relay FOR ALL TABLES WITH (publish_via_partition_root = true)")
    database.run("SELECT pg_create_logical_replication_slot('relay', 'pgoutput')")
    relay = new_relay(database, kafka, topic, table="public.p1").start(ready=False)
    assert relay.wait_exit(30) == 78
    assert "under the name of another table" in relay.log()


# Would catch: columns found by their place; a description that is kept too long.
def test_columns_come_and_go(stream, database):
    stream.start(f"CREATE TABLE outbox {PLAIN_COLUMNS}")
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO outbox (id) VALUES ('1')")
        cursor.execute("ALTER TABLE outbox ADD COLUMN correlation_id text DEFAULT 'c', ADD COLUMN created_at bigint")
        cursor.execute("INSERT INTO outbox (id) VALUES ('2')")
    database.run("ALTER TABLE outbox DROP COLUMN correlation_id")
    database.run("ALTER TABLE outbox ALTER COLUMN aggregate_id TYPE uuid USING gen_random_uuid(), ALTER aggregate_id DROP DEFAULT")
    database.run("INSERT INTO outbox (id, aggregate_id) VALUES ('3', '00000000-0000-0000-0000-000000000003')")
    messages = [message for _, message in stream.delivered()]
    assert [message.event_id for message in messages] == ["1", "2", "3"]
    assert [message.correlation_id for message in messages] == ["", "c", ""]
    assert messages[2].aggregate_id == "00000000-0000-0000-0000-000000000003"


# Would catch: events that go out without a field that their consumers need.
def test_a_required_column_that_disappears(stream, database):
    relay = stream.start(f"CREATE TABLE outbox {PLAIN_COLUMNS}")
    database.run("INSERT INTO outbox (id) VALUES ('1')")
    assert stream.ids() == ["1"]
    before = database.confirmed("relay")
    with database.transaction() as cursor:
        cursor.execute("ALTER TABLE outbox DROP COLUMN event_type")
        cursor.execute("INSERT INTO outbox (id) VALUES ('2')")
    assert relay.wait_exit() == 65
    assert "has no column for event_type" in relay.log()
    assert len(stream.records()) == 1
    assert database.confirmed("relay") < before + 2**20


# Would catch: anything of undone subtransactions, thousands of them, nested and past the snapshot's cache.
def test_subtransactions(stream, database):
    stream.start(f"CREATE TABLE outbox {PLAIN_COLUMNS}")
    database.run("""DO $$ BEGIN FOR i IN 1..2000 LOOP
        BEGIN
            INSERT INTO outbox (id) VALUES (i::text);
            BEGIN
                INSERT INTO outbox (id) VALUES (i || ' inner');
                IF i % 3 = 0 THEN RAISE EXCEPTION 'inner'; END IF;
            EXCEPTION WHEN raise_exception THEN
                IF i % 2 = 0 THEN RAISE EXCEPTION 'outer'; END IF;
            END;
        EXCEPTION WHEN raise_exception THEN NULL;
        END;
    END LOOP; END $$""")
    wanted = []
    for i in range(1, 2001):
        if i % 6:
            wanted += [str(i)] + ([f"{i} inner"] if i % 3 else [])
    assert stream.ids() == wanted


# Would catch: a prepared transaction that is published before it commits, or although it doesn't.
def test_prepared_transactions(stream, database):
    stream.start(f"CREATE TABLE outbox {PLAIN_COLUMNS}")
    for event_id in ("kept", "dropped"):
        connection = database.connect(autocommit=False)
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO outbox (id) VALUES (%s)", (event_id,))
            cursor.execute(f"PREPARE TRANSACTION '{database.name} {event_id}'")
        connection.close()
    database.run("INSERT INTO outbox (id) VALUES ('between')")
    assert stream.ids() == ["between"]
    database.run(f"ROLLBACK PREPARED '{database.name} dropped'")
    database.run(f"COMMIT PREPARED '{database.name} kept'")
    assert stream.ids() == ["between", "kept"]


# Would catch: a transaction that is open for long and holds up what others commit.
def test_a_long_open_transaction(stream, database):
    stream.start(f"CREATE TABLE outbox {PLAIN_COLUMNS}")
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO outbox (id) VALUES ('slow')")
        for number in range(50):
            database.run("INSERT INTO outbox (id) VALUES (%s)", (str(number),))
        assert stream.ids() == [str(number) for number in range(50)]
        restart = database.slot("relay")["restart_lsn"]
    assert stream.ids()[-1] == "slow"
    assert restart is not None


# Would catch: a value that doesn't fit a buffer, twice in memory, or that keeps the status from being said.
def test_large_values(stream, database, kafka, new_topic, new_relay, reader):
    database.run(f"ALTER DATABASE {database.name} SET wal_sender_timeout = '5s'")
    topic = new_topic(kafka, partitions=1, **{"max.message.bytes": str(70_000_000)})
    database.run("CREATE TABLE outbox (id text PRIMARY KEY, aggregate_type text DEFAULT 'order', aggregate_id text DEFAULT 'k', "
                 "event_type text DEFAULT 'Placed', payload bytea)")
    database.create_slot("relay", "outbox")
    relay = new_relay(database, kafka, topic).start()
    pid = database.slot("relay")["active_pid"]
    sizes = [0, 1_000_000, 2_000_000, 16_000_000, 64_000_000, 1]
    for size in sizes:
        database.run("INSERT INTO outbox (id, payload) VALUES (%s, decode(repeat('ab', %s), 'hex'))", (str(size), size))
    database.wait_confirmed("relay", deadline=120)
    messages = [envelope.parse(record.value) for record in reader.read(topic)]
    assert [len(message.payload) for message in messages] == sizes
    assert set(messages[4].payload) == {0xab}
    assert database.slot("relay")["active_pid"] == pid
    assert relay.terminate() == 0


# Would catch: quoting that works for plain names alone, in SQL or in the replication grammar.
def test_odd_names(stream, database):
    database.run('CREATE SCHEMA "Odd ""Schema"""')
    name = 'Out.box ü"' + "x" * 40
    quoted = name.replace('"', '""')
    stream.start(f'CREATE TABLE "Odd ""Schema"""."{quoted}" {PLAIN_COLUMNS}', f'"Odd ""Schema"""."{quoted}"',
                 f'CREATE PUBLICATION "Pub, \'""x" FOR TABLE "Odd ""Schema"""."{quoted}" WITH (publish = \'insert\')',
                 publication_name='Pub, \'"x')
    database.run(f'INSERT INTO "Odd ""Schema"""."{quoted}" (id) VALUES (\'1\')')
    (_, message), = stream.delivered()
    assert message.source.relation == f'Odd "Schema".{name}'


# Would catch: updates, deletes or other tables that become events, where the publication has them too.
def test_a_wide_publication(stream, database):
    database.run("CREATE TABLE neighbour (a int PRIMARY KEY)")
    stream.start(f"CREATE TABLE outbox {PLAIN_COLUMNS}", "public.outbox", "CREATE PUBLICATION relay FOR ALL TABLES")
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO outbox (id) VALUES ('1'), ('2')")
        cursor.execute("INSERT INTO neighbour VALUES (1)")
        cursor.execute("UPDATE outbox SET payload = '{}' WHERE id = '1'")
        cursor.execute("DELETE FROM outbox WHERE id = '2'")
    database.run("TRUNCATE outbox, neighbour")
    assert stream.ids() == ["1", "2"]
    assert stream.relay.metric("walpost_messages_skipped_total") >= 3


# Would catch: a relay that makes the application wait.
def test_writers_are_never_held_up(stream, database):
    stream.start(f"CREATE TABLE outbox {PLAIN_COLUMNS}")
    done = threading.Event()

    def write():
        connection = database.connect()
        with connection.cursor() as cursor:
            for number in range(500):
                cursor.execute("INSERT INTO outbox (id) VALUES (%s)", (str(number),))
        connection.close()
        done.set()
    threading.Thread(target=write, daemon=True).start()
    assert done.wait(60)
    assert len(stream.ids()) == 500
