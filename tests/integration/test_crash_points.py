"""kill -9 at each point of an event's way, as it shows on the wires to Postgres and to Kafka."""

import re

import pytest

from support import envelope
from support.load import Load
from support.proxy import ProduceWatch, flushes, through
from support.scenario import SLOT, Scenario
from support.tables import PLAIN_TABLE

SEED = 8128
FRAME = rb"d.{4}w.{24}"


@pytest.fixture
def database(private_database):
    return private_database


@pytest.fixture
def topic(proxied_kafka, new_topic):
    return new_topic(proxied_kafka.bootstrap)


@pytest.fixture
def reader(proxied_kafka, new_reader):
    return new_reader(proxied_kafka.bootstrap)


class Sight:
    """Kills the relay at the `number`-th time that something comes by; `vanishes`: what came by is lost too."""

    def __init__(self, relay, number=1, vanishes=False):
        self.relay, self.left, self.vanishes = relay, number, vanishes

    def seen(self, times=1):
        if self.left > 0:
            self.left -= times
            if self.left <= 0:
                self.relay.kill9()
        return self.left <= 0 and self.vanishes


def text(direction, pattern, number=1, vanishes=False):
    """When bytes of this pattern pass on the line to Postgres."""
    def arm(relay, postgres, _):
        sight = Sight(relay, number, vanishes)

        def watch(way, data, _):
            vanishes_now = way == direction and sight.seen(len(re.findall(pattern, data, re.DOTALL)))
            return b"" if vanishes_now else data
        postgres.watch = watch
    return arm


def status(vanishes):
    """When a status update says a flush position for the fifth time that is new."""
    def arm(relay, postgres, _):
        sight = Sight(relay, 5, vanishes)
        known = set()

        def watch(way, data, _):
            news = {flush for flush in flushes(data) if flush > 0} - known if way == "up" else set()
            known.update(news)
            return b"" if news and sight.seen(len(news)) else data
        postgres.watch = watch
    return arm


def request(vanishes):
    def arm(relay, _, kafka):
        sight = Sight(relay, 4, vanishes)
        kafka.watch = ProduceWatch(on_request=lambda _: sight.seen())
    return arm


def response(vanishes):
    def arm(relay, _, kafka):
        sight = Sight(relay, 4, vanishes)
        kafka.watch = ProduceWatch(on_response=lambda _: sight.seen())
    return arm


def held(what):
    """The line to Kafka swallows one direction; the kill comes when the window fills."""
    def arm(relay, _, kafka):
        relay.wait(lambda: (relay.metric("walpost_messages_delivered_total") or 0) > 50, 60, "every partition is known to work")
        kafka.swallow = {what}
        relay.wait(lambda: (relay.metric("walpost_inflight_messages") or 0) > 100, 60, "messages wait for their receipts")
        relay.kill9()
    return arm


POINTS = {
    "before the slot is named": text("up", b"IDENTIFY_SYSTEM"),
    "as the stream is asked for": text("up", b"START_REPLICATION", vanishes=True),
    "as the stream begins": text("down", b"^W"),
    "after a BEGIN": text("down", FRAME + b"B", number=4),
    "in the middle of a transaction": text("down", FRAME + b"I", number=53),
    "before a row of many arrives": text("down", FRAME + b"I", number=120, vanishes=True),
    "produced, and nothing was sent": held("up"),
    "sent, and no answer": held("down"),
    "as a request leaves": request(vanishes=True),
    "as a request arrives": request(vanishes=False),
    "as an answer is lost": response(vanishes=True),
    "as an answer arrives": response(vanishes=False),
    "as a status is lost": status(vanishes=True),
    "as a status arrives": status(vanishes=False),
}


# Would catch: an event that is confirmed, or counted as delivered, at a point where it isn't yet; a start that
# can't be repeated; a replay that leaves a hole or comes in another order. Twice at the same point, then once
# together with a crash of Postgres.
@pytest.mark.parametrize("point", POINTS.values(), ids=POINTS.keys())
def test_kill(point, private_postgres, postgres_proxy, proxied_kafka, database, topic, reader, new_relay):
    scenario = Scenario(Load(database, SEED, pause=0.01), database, topic, reader)
    relay = new_relay(database, proxied_kafka.through_proxy, topic, sections=through(postgres_proxy, database))
    scenario.load.start()
    for crash in (False, False, True):
        relay.start(ready=False)
        point(relay, postgres_proxy, proxied_kafka.proxy)
        relay.wait_killed()
        for proxy in (postgres_proxy, proxied_kafka.proxy):
            proxy.be_transparent()
        if crash:
            private_postgres.stop("immediate")
            private_postgres.start()
            database.close()
        scenario.note_restart()
    relay.start()
    scenario.more_delivered(relay, 200, "records after the kills")
    scenario.finish(relay)
    assert relay.terminate() == 0


# Would catch: a confirmation that isn't proven to have arrived: a kill right behind it would repeat events.
def test_kill_after_postgres_has_confirmed(database, proxied_kafka, topic, reader, new_relay):
    scenario = Scenario(Load(database, SEED, rows=500), database, topic, reader)
    relay = new_relay(database, proxied_kafka.through_proxy, topic).start()
    scenario.load.start()
    scenario.load.join()
    database.wait_confirmed(SLOT)
    relay.kill9()
    relay.start()
    report = scenario.finish(relay)
    assert not report.duplicates, report
    assert relay.terminate() == 0


# Would catch: a dead letter that counts as delivered when it is sent, or an event that is skipped because its
# dead letter was once on its way.
@pytest.mark.parametrize("confirms", [False, True], ids=["sent", "acknowledged"])
def test_kill_around_a_dead_letter(confirms, database, proxied_kafka, postgres_proxy, new_topic, reader, new_relay):
    database.run(PLAIN_TABLE)
    database.create_slot(SLOT, "outbox")
    good, dead = (new_topic(proxied_kafka.bootstrap, partitions=1) for _ in range(2))
    relay = new_relay(database, proxied_kafka.through_proxy, good, sections={
        **through(postgres_proxy, database), "delivery": {"dead_letter_topic": dead, "dead_letter_events": ["poison"]}})
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO outbox (id) VALUES ('poison'), ('before'), ('behind')")
    for number in (1, 2):
        if confirms:
            postgres_proxy.watch = lambda way, data, _: b"" if way == "up" and flushes(data) else data
        else:
            proxied_kafka.proxy.watch = ProduceWatch(on_response=lambda _: True)
        relay.start(ready=False)
        relay.wait(lambda: reader.count(dead) == number, 60, "the dead letter is at the broker")
        relay.wait(lambda: confirms == (relay.metric("walpost_inflight_messages") == 0), 60, "and its answer, or not")
        relay.kill9()
        postgres_proxy.be_transparent()
        proxied_kafka.proxy.be_transparent()
        database.wait_inactive(SLOT)
    relay.start()
    database.wait_confirmed(SLOT)
    assert relay.terminate() == 0
    good_ids = envelope.ids(reader, good)
    assert good_ids[-2:] == ["before", "behind"] and set(good_ids) == {"before", "behind"}
    letters = [envelope.parse(record.value).event_id for record in reader.read(dead)]
    assert set(letters) == {"poison"} and 2 <= len(letters) <= 3
