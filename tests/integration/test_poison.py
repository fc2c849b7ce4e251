"""Events that can never be delivered, in the middle of good ones, under both policies."""

import uuid

import pytest

from support import envelope
from support.kafka import create_topic

TABLE = """CREATE TABLE outbox (
    id text PRIMARY KEY, aggregate_type text NOT NULL, aggregate_id text, event_type text NOT NULL,
    payload bytea, occurred_at timestamptz NOT NULL DEFAULT now())"""
INSERT = ("INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload, occurred_at) "
          "VALUES (%s, %s, %s, 'Placed', %s, coalesce(%s, now()))")
LIMIT = 100_000
GOOD = 2000
# A time that a topic with message.timestamp.before.max.ms refuses: found by the broker alone.
REFUSED_TIME = "2001-01-01 00:00:00+00"


class Setting:
    """A narrow topic, its dead letters, and 2,000 good events of a kB with two poison ones among them."""

    def __init__(self, database, bootstrap, reader):
        self.database = database
        self.reader = reader
        name = f"poison-{uuid.uuid4().hex}"
        self.topic, self.dead = f"outbox.{name}", f"outbox.{name}.dead"
        create_topic(bootstrap, self.topic, 1, **{"max.message.bytes": str(LIMIT),
                                                  "message.timestamp.before.max.ms": str(86_400_000)})
        create_topic(bootstrap, self.dead, 1)
        database.run(TABLE)
        database.create_slot("relay", "outbox")
        self.poison = ["large", "refused"]
        self.ids = [f"e{number:04}" for number in range(GOOD)]
        self.ids[700:700] = ["large"]
        self.ids[1400:1400] = ["refused"]

    def row(self, event_id):
        size = LIMIT + 1 if event_id == "large" else 1000
        return (event_id, "order", f"key {len(event_id)}", b"x" * size, REFUSED_TIME if event_id == "refused" else None)

    def commit(self, one_transaction):
        if one_transaction:
            with self.database.transaction() as cursor:
                for event_id in self.ids:
                    cursor.execute(INSERT, self.row(event_id))
        else:
            for event_id in self.ids:
                self.database.run(INSERT, self.row(event_id))

    def sections(self, **delivery):
        return {"delivery": {"dead_letter_topic": self.dead, **delivery}, "routing": {"timestamp": "occurred_at"}}

    def delivered(self):
        return [envelope.parse(record.value).event_id for record in self.reader.read(self.topic)]

    def check_delivered(self):
        ids = self.delivered()
        first = list(dict.fromkeys(ids))
        assert first == [event_id for event_id in self.ids if event_id not in self.poison], "first deliveries, in order"
        return len(ids) - len(first)

    def dead_letters(self):
        return {dict(record.headers)["id"].decode(): (record, {n: v.decode() for n, v in record.headers})
                for record in self.reader.read(self.dead)}


# Would catch: a rejected batch that takes innocent events with it, later events that pass a rejected
# one, a poison event that is skipped or confirmed without its dead letter, an empty dead letter.
@pytest.mark.parametrize("one_transaction", [False, True], ids=["many", "one"])
def test_dead_letters(one_transaction, database, kafka, reader, new_relay):
    setting = Setting(database, kafka, reader)
    setting.commit(one_transaction)
    relay = new_relay(database, kafka, setting.topic, sections=setting.sections(on_poison="dead_letter")).start()
    database.wait_confirmed("relay", deadline=120)
    relay.check_alive()
    duplicates = setting.check_delivered()
    assert duplicates == 0, "what was acknowledged before the rejection is passed over at the replay"
    letters = setting.dead_letters()
    assert set(letters) == {"large", "refused"}
    record, headers = letters["large"]
    assert record.value == b"" and record.key is None
    assert "max.message.bytes" in headers["walpost-error"]
    assert headers["walpost-topic"] == setting.topic
    assert headers["walpost-source"] == f"{database.name}/public.outbox"
    record, headers = letters["refused"]
    message = envelope.parse(record.value)
    assert message.event_id == "refused" and record.key == b"key 7"
    assert headers["walpost-lsn"] == f"{message.source.commit_lsn:016X}-{message.source.index:08X}"
    assert relay.metric("walpost_dead_letters_total") >= 2
    assert relay.terminate() == 0


# Would catch: a stop that confirms past the poison event, loses what came before it, or doesn't say how
# to get past it; a named event that isn't sent to the dead letters.
def test_stop_and_getting_past_it(database, kafka, reader, new_relay):
    setting = Setting(database, kafka, reader)
    setting.commit(False)
    relay = new_relay(database, kafka, setting.topic, sections=setting.sections()).start(ready=False)
    assert relay.wait_exit() == 65
    assert "(id 'large')" in relay.log() and "max.message.bytes" in relay.log()
    assert "delivery.dead_letter_events" in relay.log()
    assert setting.delivered() == setting.ids[:700]

    relay = new_relay(database, kafka, setting.topic,
                      sections=setting.sections(dead_letter_events=["large"])).start(ready=False)
    assert relay.wait_exit() == 65
    assert setting.delivered() == [event_id for event_id in setting.ids[:1401] if event_id not in setting.poison]

    relay = new_relay(database, kafka, setting.topic, sections=setting.sections(dead_letter_events=["large", "refused"])).start()
    database.wait_confirmed("relay", deadline=60)
    setting.check_delivered()
    assert set(setting.dead_letters()) == {"large", "refused"}
    assert relay.terminate() == 0


BAD_ROWS = {
    "topic": ("no such topic!", "k", "isn't legal"),
    "foreign": ("../../secrets", "k", "isn't legal"),
}


# Would catch: a row whose author chooses a topic that is none, or is not allowed, and stops everything
# (under dead_letter) or is dropped.
def test_a_row_that_routes_nowhere(database, kafka, reader, new_relay):
    setting = Setting(database, kafka, reader)
    prefix = setting.topic.removesuffix(setting.topic[-8:])
    kind = setting.topic[len(prefix):]
    sections = setting.sections(on_poison="dead_letter")
    sections["routing"] = {"topic": prefix + "{aggregate_type}", "allowed_topics": "outbox\\.poison-[0-9a-f]*"}
    relay = new_relay(database, kafka, sections=sections).start()
    for event_id, (aggregate_type, key, _) in BAD_ROWS.items():
        database.run(INSERT, (event_id, aggregate_type, key, b"x", None))
    database.run(INSERT, ("not allowed", "-elsewhere", "k", b"x", None))
    database.run(INSERT, ("good", kind, "k", b"x", None))
    database.wait_confirmed("relay")
    assert setting.delivered() == ["good"]
    letters = setting.dead_letters()
    assert set(letters) == {*BAD_ROWS, "not allowed"}
    for event_id, (_, _, fault) in BAD_ROWS.items():
        assert fault in letters[event_id][1]["walpost-error"]
    assert "routing.allowed_topics" in letters["not allowed"][1]["walpost-error"]
    relay.check_alive()


# Would catch: a dead letter that counts as delivered although its topic isn't there.
def test_dead_letter_topic_missing(database, kafka, reader, new_relay):
    setting = Setting(database, kafka, reader)
    sections = setting.sections(on_poison="dead_letter")
    sections["delivery"]["dead_letter_topic"] = "outbox.nowhere"
    relay = new_relay(database, kafka, setting.topic, sections=sections).start(ready=False)
    assert relay.wait_exit() == 78
    assert "topic 'outbox.nowhere' does not exist" in relay.log()
