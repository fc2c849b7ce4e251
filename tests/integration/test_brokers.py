"""What brokers and topics do while the relay runs: topics that go, grow or refuse, answers that are late."""

import os
import time

from confluent_kafka.admin import AdminClient, NewPartitions

from support import envelope
from support.kafka import create_topic, murmur2_partition
from support.load import Load
from support.proxy import ProduceWatch
from support.scenario import SLOT, Scenario
from support.tables import insert
from throwaway import wait_until


def administer(bootstrap, action):
    """`action`: of an AdminClient to its futures; the client lives until they are done."""
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for future in action(client).values():
        future.result(60)


def delete_topic(bootstrap, reader, topic):
    administer(bootstrap, lambda client: client.delete_topics([topic], operation_timeout=30))
    wait_until(lambda: topic not in reader.consumer.list_topics(timeout=30).topics, 30, "the topic is gone")


# Would catch: events that are given up with their topic, or a relay that retries in silence for ever.
def test_topic_deleted(outbox, kafka, topic, reader, new_relay):
    relay = new_relay(outbox, kafka, topic).start()
    insert(outbox, "before")
    outbox.wait_confirmed(SLOT)
    delete_topic(kafka, reader, topic)
    insert(outbox, "1", "2")
    assert relay.wait_exit(90) == 78
    assert f"topic '{topic}' does not exist" in relay.log()
    create_topic(kafka, topic, 1)
    relay.start()
    outbox.wait_confirmed(SLOT)
    assert envelope.ids(reader, topic) == ["1", "2"]
    assert relay.terminate() == 0


# Would catch: a relay that sends on to partitions that are no more, or says nothing when keys move.
def test_topic_recreated(outbox, kafka, topic, reader, new_relay):
    relay = new_relay(outbox, kafka, topic).start()
    insert(outbox, "before")
    outbox.wait_confirmed(SLOT)
    delete_topic(kafka, reader, topic)
    create_topic(kafka, topic, 6)
    insert(outbox, "1", "2")
    outbox.wait_confirmed(SLOT, deadline=90)
    assert envelope.ids(reader, topic)[-2:] == ["1", "2"]
    assert relay.terminate() == 0


# Would catch: keys that move to other partitions in mid-stream, or that move later without a word.
def test_partitions_added(outbox, kafka, topic, reader, new_relay):
    relay = new_relay(outbox, kafka, topic).start()
    insert(outbox, "before")
    outbox.wait_confirmed(SLOT)
    administer(kafka, lambda client: client.create_partitions([NewPartitions(topic, 6)], operation_timeout=30))
    wait_until(lambda: len(reader.partitions(topic)) == 6, 30, "the partitions are there")
    outbox.run("INSERT INTO outbox (id, aggregate_id) SELECT n, 'k' || n FROM generate_series(1, 50) n")
    outbox.wait_confirmed(SLOT)
    for record in reader.read(topic):
        assert record.partition == murmur2_partition(record.key, 4)
    pid = outbox.slot(SLOT)["active_pid"]
    outbox.run("SELECT pg_terminate_backend(%s)", (pid,))
    relay.wait(lambda: "another number of partitions" in relay.log(), 60, "tells that keys move")
    outbox.run("INSERT INTO outbox (id, aggregate_id) SELECT 'later' || n, 'k' || n FROM generate_series(1, 50) n")
    outbox.wait_confirmed(SLOT)
    later = [r for r in reader.read(topic) if envelope.parse(r.value).event_id.startswith("later")]
    assert [r.partition for r in later] == [murmur2_partition(r.key, 6) for r in later] and len(later) == 50
    assert relay.terminate() == 0


def loop_seconds(pid):
    """CPU time of the main thread, which is the relay's loop."""
    with open(f"/proc/{pid}/task/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# Would catch: a message that times out or is sent again while its answer is late, a loop that spins meanwhile.
def test_slow_broker(database, proxied_kafka, new_topic, new_reader, new_relay):
    topic = new_topic(proxied_kafka.bootstrap)
    scenario = Scenario(Load(database, 11, pause=0.2), database, topic, new_reader(proxied_kafka.bootstrap))
    relay = new_relay(database, proxied_kafka.through_proxy, topic, sections={"delivery": {"max_inflight_messages": 100}}).start()
    proxied_kafka.proxy.delay = 0.3
    scenario.load.start()
    scenario.more_delivered(relay, 200, "records by slow answers")
    relay.wait(lambda: relay.metric("walpost_inflight_messages") >= 95, 60, "the window fills")
    statuses = relay.metric("walpost_status_updates_sent_total")
    begin, busy = time.monotonic(), loop_seconds(relay.process.pid)
    scenario.more_delivered(relay, 200, "more of them")
    assert loop_seconds(relay.process.pid) - busy < 0.3 * (time.monotonic() - begin) + 0.05
    relay.wait(lambda: relay.metric("walpost_status_updates_sent_total") > statuses, 60, "statuses go on")
    proxied_kafka.proxy.delay = 0
    report = scenario.finish(relay)
    assert not report.duplicates
    assert relay.terminate() == 0


# Would catch: a confirmation that jumps over what only one of two topics has, memory that grows meanwhile, and
# at the kill -9 events of the dead topic that are lost.
def test_one_of_two_topics_is_dead(outbox, proxied_kafka, new_reader, new_topic, new_relay):
    bootstrap = proxied_kafka.bootstrap
    reader, topic = new_reader(bootstrap), new_topic(bootstrap)
    good, dead = f"{topic}.good", f"{topic}.dead"
    create_topic(bootstrap, good, 1)
    create_topic(bootstrap, dead, 1)
    relay = new_relay(outbox, proxied_kafka.through_proxy, topic + ".{aggregate_type}",
                      sections={"delivery": {"max_inflight_messages": 200}}).start()
    outbox.run("INSERT INTO outbox (id, aggregate_type) VALUES ('g0', 'good')")
    outbox.wait_confirmed(SLOT)
    proxied_kafka.proxy.watch = ProduceWatch(on_request=lambda message: dead.encode() in message)
    for number in range(1, 4):
        outbox.run("INSERT INTO outbox (id, aggregate_type) VALUES (%s, 'good'), (%s, 'dead')", (f"g{number}", f"d{number}"))
    outbox.run("INSERT INTO outbox (id, aggregate_type) SELECT 'g' || n, 'good' FROM generate_series(4, 1000) n")
    relay.wait(lambda: relay.status().get("oldest_unacked_topic") == dead, 60, "names the topic that blocks")
    relay.wait(lambda: not relay.is_ready(), 60, "is not ready")
    assert relay.metric("walpost_inflight_messages") <= 200
    assert reader.count(dead) == 0
    first_hole = next(envelope.parse(r.value).source.commit_lsn for r in reader.read(good) if b"g1" in r.value)
    assert outbox.confirmed(SLOT) <= first_hole
    relay.kill9()
    proxied_kafka.proxy.be_transparent()
    relay.start()
    outbox.wait_confirmed(SLOT)
    assert envelope.ids(reader, dead) == ["d1", "d2", "d3"]
    ids = envelope.ids(reader, good)
    assert ids[0] == "g0" and ids[-1000:] == [f"g{n}" for n in range(1, 1001)]
    assert relay.terminate() == 0
