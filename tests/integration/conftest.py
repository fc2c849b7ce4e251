"""What every integration test has: a Postgres, a Kafka, and relays that do not outlive the test."""

import itertools
import os
import shutil
import tempfile

import pytest

from support.kafka import ProxiedKafka, Reader, TempKafka, create_topic
from support.postgres import TempPostgres
from support.proxy import Proxy
from support.relay import Walpost, binary
from support.tables import PLAIN_TABLE

_numbers = itertools.count(1)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Lets fixtures know how the test ended, so that a failure comes with the relay's log."""
    report = (yield).get_result()
    if report.when == "call":
        item.failed = report.failed


@pytest.fixture(scope="session")
def postgres():
    """The cluster that tests share; each has its own database in it."""
    cluster = TempPostgres()
    yield cluster
    cluster.drop()


@pytest.fixture(scope="module")
def private_postgres():
    """A cluster that a module may stop; on TCP, since production is."""
    cluster = TempPostgres(tcp=True)
    yield cluster
    cluster.drop()


@pytest.fixture
def private_database(private_postgres):
    database = private_postgres.database()
    yield database
    database.drop()


@pytest.fixture
def postgres_proxy(private_postgres):
    proxy = Proxy("127.0.0.1", private_postgres.port)
    yield proxy
    proxy.close()


@pytest.fixture(scope="session")
def kafka():
    """The bootstrap address of the broker that tests share."""
    if os.environ.get("WALPOST_TEST_KAFKA"):
        yield os.environ["WALPOST_TEST_KAFKA"]
        return
    broker = TempKafka()
    yield broker.bootstrap
    broker.drop()


@pytest.fixture(scope="module")
def private_kafka():
    """A broker that a module may stop."""
    broker = TempKafka()
    yield broker
    broker.drop()


@pytest.fixture(scope="session")
def proxied_kafka_of_session():
    broker = ProxiedKafka()
    yield broker
    broker.drop()


@pytest.fixture
def proxied_kafka(proxied_kafka_of_session):
    """A broker that relays reach through a proxy, and readers directly."""
    yield proxied_kafka_of_session
    proxied_kafka_of_session.proxy.be_transparent()
    proxied_kafka_of_session.proxy.reset()


@pytest.fixture
def database(postgres):
    database = postgres.database()
    yield database
    database.drop()


@pytest.fixture
def outbox(database):
    """A database with the plainest outbox table, and publication and slot `relay`."""
    database.run(PLAIN_TABLE)
    database.create_slot("relay", "outbox")
    return database


@pytest.fixture
def new_topic():
    """new_topic(bootstrap, partitions) → the name of a fresh topic that the default allow-list permits."""
    def make(bootstrap, partitions=4, **config):
        topic = f"outbox.test.{os.getpid()}-{next(_numbers)}"
        create_topic(bootstrap, topic, partitions, **config)
        return topic
    return make


@pytest.fixture
def topic(kafka, new_topic):
    """A fresh topic of four partitions on the shared broker."""
    return new_topic(kafka)


@pytest.fixture
def new_reader():
    readers = []

    def make(bootstrap):
        readers.append(Reader(bootstrap))
        return readers[-1]
    yield make
    for reader in readers:
        reader.close()


@pytest.fixture
def reader(kafka, new_reader):
    return new_reader(kafka)


@pytest.fixture
def new_relay(request):
    """new_relay(database, bootstrap, topic, ...) → a Walpost that is not started yet."""
    assert os.access(binary(), os.X_OK), f"{binary()} is not there; HINT: tools/dev test, or set WALPOST_BINARY"
    directory = tempfile.mkdtemp(prefix="walpost-relay-")
    relays = []

    def make(database, bootstrap, topic=None, slot="relay", table="public.outbox", **keywords):
        relay = Walpost(directory, f"relay{len(relays) + 1}", database.dsn, slot, table, bootstrap, topic=topic, **keywords)
        relays.append(relay)
        return relay
    yield make
    for relay in relays:
        relay.close()
        if getattr(request.node, "failed", False) and os.path.exists(relay.log_path):
            print(f"--- the end of the log of {relay.name} ---\n{relay.log()[-6000:]}")
    shutil.rmtree(directory, ignore_errors=True)
