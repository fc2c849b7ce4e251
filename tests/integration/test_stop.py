"""SIGTERM at a bad moment: what is delivered stays confirmed, what is not comes again, and the code says which."""

import signal

import pytest

from support import envelope
from support.proxy import ProduceWatch, through
from support.scenario import SLOT
from support.tables import PLAIN_TABLE, insert

ROWS = 20_000


@pytest.fixture
def database(private_database):
    private_database.run(PLAIN_TABLE)
    private_database.create_slot(SLOT, "outbox")
    return private_database


@pytest.fixture
def topic(proxied_kafka, new_topic):
    return new_topic(proxied_kafka.bootstrap, partitions=1)


@pytest.fixture
def reader(proxied_kafka, new_reader):
    return new_reader(proxied_kafka.bootstrap)


@pytest.fixture
def relay(database, proxied_kafka, postgres_proxy, topic, new_relay):
    """With a small window, and a drain that is given up soon."""
    sections = {**through(postgres_proxy, database), "delivery": {"max_inflight_messages": 50, "drain_timeout": "3s"}}
    relay = new_relay(database, proxied_kafka.through_proxy, topic, sections=sections).start()
    insert(database, "first")
    database.wait_confirmed(SLOT)
    return relay


def fill_the_window(relay, database, proxied_kafka):
    """The broker takes messages, and its answers are lost."""
    proxied_kafka.proxy.watch = ProduceWatch(on_response=lambda _: True)
    database.run("INSERT INTO outbox (id) SELECT n::text FROM generate_series(1, 1000) n")
    relay.wait(lambda: relay.metric("walpost_inflight_messages") == 50, 60, "the window is full")


def all_again(relay, database, proxied_kafka, postgres_proxy):
    """Starts it again on lines that work, until everything is delivered."""
    for proxy in (proxied_kafka.proxy, postgres_proxy):
        proxy.be_transparent()
    relay.start()
    database.wait_confirmed(SLOT)
    assert relay.terminate() == 0


# Would catch: a last confirmation that is said and not heard: the events would come twice.
def test_idle(relay, database, reader, topic, proxied_kafka, postgres_proxy):
    assert relay.terminate() == 0
    all_again(relay, database, proxied_kafka, postgres_proxy)
    assert envelope.ids(reader, topic) == ["first"]


# Would catch: a stop that leaves a transaction in its middle, of which the rest would come again from its start.
def test_in_the_middle_of_a_transaction(relay, database, reader, topic, proxied_kafka, postgres_proxy):
    proxied_kafka.proxy.delay = 0.001
    database.run(f"INSERT INTO outbox (id) SELECT n::text FROM generate_series(1, {ROWS}) n")
    relay.wait(lambda: 100 < relay.metric("walpost_messages_delivered_total"), 60, "some of it is delivered")
    early = relay.metric("walpost_messages_delivered_total")
    relay.process.send_signal(signal.SIGTERM)
    assert early < ROWS
    code = relay.wait_exit(60)
    all_again(relay, database, proxied_kafka, postgres_proxy)
    ids = envelope.ids(reader, topic)
    whole = [str(n) for n in range(1, ROWS + 1)]
    if code == 0:
        assert ids == ["first", *whole]
    else:  # A slow machine: the deadline came first, and the transaction comes again from its start.
        assert code == 75 and ids[-ROWS:] == whole


# Would catch: a stop that waits for ever, confirms what was never acknowledged, or says 0 with events undelivered.
def test_window_full(relay, database, reader, topic, proxied_kafka, postgres_proxy):
    fill_the_window(relay, database, proxied_kafka)
    assert relay.terminate() == 75
    all_again(relay, database, proxied_kafka, postgres_proxy)
    assert envelope.ids(reader, topic)[-1000:] == [str(n) for n in range(1, 1001)]


# Would catch: an operator who has to use kill -9, which a drain of minutes would make him do.
def test_asked_twice(relay, database, proxied_kafka):
    fill_the_window(relay, database, proxied_kafka)
    relay.process.send_signal(signal.SIGTERM)
    relay.wait(lambda: relay.state() == "stopping", 30, "it stops")
    relay.process.send_signal(signal.SIGTERM)
    assert relay.wait_exit() == 75
    assert "leaving at once" in relay.log()


# Would catch: a stop that waits for an answer of a server that says nothing more, or gives up the deliveries.
def test_postgres_silent(relay, database, reader, topic, proxied_kafka, postgres_proxy):
    insert(database, "second")
    database.wait_confirmed(SLOT)
    postgres_proxy.swallow = {"down"}
    assert relay.terminate() == 0
    postgres_proxy.reset()
    all_again(relay, database, proxied_kafka, postgres_proxy)
    assert envelope.ids(reader, topic)[:2] == ["first", "second"]


# Would catch: a stop that waits until Postgres is back.
def test_while_reconnecting(relay, database, private_postgres):
    private_postgres.stop("immediate")
    try:
        relay.wait(lambda: relay.state() == "stalled", 60, "it is without Postgres")
        assert relay.terminate() == 0
    finally:
        private_postgres.start()
        database.close()
