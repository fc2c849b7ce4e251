"""Values at the edge of what a row may hold: delivered as they are, or named and set apart; nothing in between."""

import json

import pytest

from support import envelope
from support.kafka import create_topic
from support.scenario import SLOT

TABLE = """CREATE TABLE outbox (
    id text PRIMARY KEY, aggregate_type text NOT NULL DEFAULT 'order', aggregate_id text, event_type text NOT NULL DEFAULT 'Placed',
    payload bytea, headers jsonb, occurred_at timestamptz NOT NULL DEFAULT now())"""

ALL_BYTES = bytes(range(256))

# Columns of a row → what its record must be: key, payload, and headers beside walpost's own.
FINE = {
    "every byte, NUL too": ({"payload": ALL_BYTES}, None, ALL_BYTES, {}),
    "nothing as payload": ({"payload": b""}, None, b"", {}),
    "an empty key": ({"aggregate_id": "", "payload": b"x"}, b"", b"x", {}),
    "a key of half a MB": ({"aggregate_id": "k" * 500_000, "payload": b"x"}, b"k" * 500_000, b"x", {}),
    "no key": ({"payload": b"x"}, None, b"x", {}),
    "control characters": ({"aggregate_id": "a\r\n\t\x1b[2J\u2028", "event_type": 'x"}\n{"level":"info"', "payload": b"x"},
                           "a\r\n\t\x1b[2J\u2028".encode(), b"x", {}),
    "headers that break lines": ({"payload": b"x", "headers": json.dumps({"x-note": "a\r\nwalpost-lsn: 0", "x-empty": ""})},
                                 None, b"x", {"x-note": b"a\r\nwalpost-lsn: 0", "x-empty": b""}),
    "beyond the BMP": ({"aggregate_id": "🚚", "payload": b"x"}, "🚚".encode(), b"x", {}),
    "before 1970": ({"payload": b"x", "occurred_at": "1812-06-24 00:00:00+00"}, None, b"x", {}),
}

# Columns of a row → what its dead letter must say.
POISON = {
    "headers of another shape": ({"payload": b"x", "headers": json.dumps(["a"])}, "headers"),
    "no topic's name": ({"payload": b"x", "aggregate_type": "a" * 250}, "249"),
    "a topic with spaces": ({"payload": b"x", "aggregate_type": "a b"}, "isn't legal"),
    "infinitely late": ({"payload": b"x", "occurred_at": "infinity"}, "occurred_at"),
}


@pytest.fixture
def topics(kafka, topic):
    """(events, dead letters)"""
    for name in ("order", "dead"):
        create_topic(kafka, f"{topic}.{name}", 1)
    return f"{topic}.order", f"{topic}.dead"


def sections(dead, **delivery):
    return {"routing": {"header_allowlist": ["x-note", "x-empty"]}, "delivery": {"dead_letter_topic": dead, **delivery}}


def insert(cursor, event_id, columns):
    columns = {"id": event_id, **columns}
    cursor.execute(f"INSERT INTO outbox ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})", list(columns.values()))


def check_fine(records):
    for name, (_, key, payload, headers) in FINE.items():
        record = records.pop(name)
        message = envelope.parse(record.value)
        assert (record.key, message.payload) == (key, payload), name
        got = dict(record.headers)
        assert {header: got.get(header) for header in headers} == headers, name
        assert len(got) == len(record.headers), "no header twice"


# Would catch: bytes that are cut at a NUL or escaped, a key that is lost, a header that forges another, a row that
# is dropped or stops the rest; under stop an event that is passed over, or named wrongly; after the restart events of
# the same transaction out of order.
def test_extremes(database, kafka, topic, topics, reader, new_relay):
    events, dead = topics
    database.run(TABLE)
    database.create_slot(SLOT, "outbox")
    order = []
    with database.transaction() as cursor:
        poison = iter(POISON.items())
        for number, (name, (columns, *_)) in enumerate(FINE.items()):
            insert(cursor, name, columns)
            order.append(name)
            if number % 2 == 0 and (item := next(poison, None)):
                insert(cursor, item[0], item[1][0])
    left = list(POISON)
    while left:
        relay = new_relay(database, kafka, topic + ".{aggregate_type}",
                          sections=sections(dead, dead_letter_events=[n for n in POISON if n not in left]))
        assert relay.start(ready=False).wait_exit() == 65, relay.log()
        name = next(n for n in left if f"'{n}'" in relay.log())
        assert POISON[name][1] in relay.log(), name
        left.remove(name)
        delivered = envelope.ids(reader, events)
        first = list(dict.fromkeys(delivered))
        assert first == order[:len(first)], "first deliveries keep the order of the transaction"
    relay = new_relay(database, kafka, topic + ".{aggregate_type}", sections=sections(dead, on_poison="dead_letter")).start()
    database.wait_confirmed(SLOT)
    assert relay.terminate() == 0
    assert list(dict.fromkeys(envelope.ids(reader, events))) == order
    check_fine({envelope.parse(record.value).event_id: record for record in reader.read(events)})
    letters = {dict(record.headers)["id"].decode(): dict(record.headers) for record in reader.read(dead)}
    assert set(letters) == set(POISON)
    for name, (_, fault) in POISON.items():
        assert fault in letters[name]["walpost-error"].decode() or b"dead_letter_events" in letters[name]["walpost-error"], name


# Would catch: a limit on columns that is lower than Postgres' own.
def test_a_table_of_1600_columns(database, kafka, topic, reader, new_relay):
    more = ", ".join(f"c{number} int2" for number in range(1595))
    database.run(f"CREATE TABLE outbox (id text, aggregate_type text, aggregate_id text, event_type text, payload text, {more})")
    database.create_slot(SLOT, "outbox")
    relay = new_relay(database, kafka, topic).start()
    database.run("INSERT INTO outbox VALUES ('1', 'order', 'k', 'Placed', 'x')")
    database.wait_confirmed(SLOT)
    assert envelope.ids(reader, topic) == ["1"]
    assert relay.terminate() == 0


# Would catch: a tombstone that nobody asked for: on a compacted topic it deletes.
@pytest.mark.parametrize("allowed", [False, True])
def test_a_null_payload_is_a_tombstone_only_if_asked(allowed, database, kafka, topic, reader, new_relay):
    database.run(TABLE)
    database.create_slot(SLOT, "outbox")
    relay = new_relay(database, kafka, topic, sections={
        "format": {"value": "payload"}, "routing": {"tombstone_on_null_payload": allowed}}).start()
    database.run("INSERT INTO outbox (id, aggregate_id) VALUES ('1', 'k')")
    database.wait_confirmed(SLOT)
    assert [record.value for record in reader.read(topic)] == [None if allowed else b""]
    assert relay.terminate() == 0
