"""Throw-away brokers by tools/temp_kafka, topics, and an independent reader."""

import collections
import os
import shutil
import socket
import struct
import tempfile
import time

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic

from throwaway import free_port, wait_until

from .process import run_tool
from .proxy import Proxy

# What a topic answers that was just created, or whose broker has just come back.
NO_LEADER_YET = (
    confluent_kafka.KafkaError.NOT_LEADER_FOR_PARTITION,
    confluent_kafka.KafkaError.LEADER_NOT_AVAILABLE,
    confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART,
)

Record = collections.namedtuple("Record", "topic partition offset key headers value timestamp")


class TempKafka:
    """A broker of its own. `stop`, `kill` and `start` keep the data and the port."""

    def __init__(self, *options):
        self.options = [part for option in options for part in ("-o", option)]
        self.parent = tempfile.mkdtemp(prefix="walpost-kafka-", dir="/tmp")
        self.directory = os.path.join(self.parent, "kafka")
        self.start()

    def start(self):
        self.bootstrap = run_tool("temp_kafka", "start", self.directory, *self.options)["bootstrap"]

    def stop(self):
        run_tool("temp_kafka", "stop", self.directory)

    def kill(self):
        run_tool("temp_kafka", "kill", self.directory)

    def drop(self):
        run_tool("temp_kafka", "drop", self.directory)
        shutil.rmtree(self.parent, ignore_errors=True)


class ProxiedKafka(TempKafka):
    """A broker with a second listener that lies behind `proxy`: `through_proxy` is its bootstrap address."""

    def __init__(self):
        port = free_port()
        self.proxy = Proxy("127.0.0.1", port)
        self.through_proxy = f"127.0.0.1:{self.proxy.port}"
        super().__init__(f"listeners={{listeners}},PROXIED://127.0.0.1:{port}",
                         f"advertised.listeners={{advertised.listeners}},PROXIED://{self.through_proxy}",
                         "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT")

    def drop(self):
        self.proxy.close()
        super().drop()


def create_topic(bootstrap, topic, partitions=4, **config):
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=config)
    client.create_topics([new], operation_timeout=30)[topic].result(60)


def create_acl(bootstrap, topic, principal):
    """Lets `principal` do all with the topic, and nobody else any more. Not in this client: one raw request."""
    def string(text):
        return struct.pack(">h", len(text)) + text.encode()
    topic_resource, literal, all_operations, allow = 2, 3, 2, 3
    request = (struct.pack(">hhih", 30, 1, 1, -1) + struct.pack(">ib", 1, topic_resource) + string(topic)
               + struct.pack(">b", literal) + string(principal) + string("*") + struct.pack(">bb", all_operations, allow))
    host, port = bootstrap.split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection, connection.makefile("rb") as reply:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = reply.read(*struct.unpack(">i", reply.read(4)))
    _, _, results, error = struct.unpack_from(">iiih", answer)
    assert (results, error) == (1, 0), answer


class Reader:
    """Reads topics from their beginnings by assignment, without a group; shares nothing with the relay."""

    def __init__(self, bootstrap):
        self.consumer = confluent_kafka.Consumer({
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "enable.partition.eof": False,
            "auto.offset.reset": "error",
            "log_level": 0,  # Brokers come and go on purpose.
        })

    def partitions(self, topic):
        metadata = self.consumer.list_topics(topic, timeout=30).topics[topic]
        if metadata.error is not None:
            raise confluent_kafka.KafkaException(metadata.error)
        return [confluent_kafka.TopicPartition(topic, p, 0) for p in sorted(metadata.partitions)]

    def end_offsets(self, topic):
        """Partition → the offset after its last record. Waits for partitions that have no leader yet."""
        def ask():
            try:
                return {p.partition: self.consumer.get_watermark_offsets(p, timeout=30)[1]
                        for p in self.partitions(topic)}
            except confluent_kafka.KafkaException as error:
                if error.args[0].code() not in NO_LEADER_YET:
                    raise
                return None
        return wait_until(ask, 60, f"leaders of topic {topic}")

    def count(self, topic):
        return sum(self.end_offsets(topic).values())

    def read(self, topic, deadline=120):
        """All records up to the end offsets as they are now, in order of (partition, offset)."""
        ends = {p: end for p, end in self.end_offsets(topic).items() if end > 0}
        records = []
        self.consumer.assign([confluent_kafka.TopicPartition(topic, p, 0) for p in ends])
        latest = time.monotonic() + deadline
        while ends:
            if time.monotonic() > latest:
                raise TimeoutError(f"topic {topic}: {len(records)} records read, still waiting for {ends}")
            for message in self.consumer.consume(10000, timeout=0.2):
                if message.error():
                    raise RuntimeError(f"topic {topic}: {message.error()}")
                partition = message.partition()
                if message.offset() < ends.get(partition, 0):
                    records.append(Record(topic, partition, message.offset(), message.key(),
                                          message.headers() or [], message.value(), message.timestamp()[1]))
                if message.offset() + 1 >= ends.get(partition, 0):
                    ends.pop(partition, None)
        self.consumer.unassign()
        records.sort(key=lambda record: (record.partition, record.offset))
        return records

    def close(self):
        self.consumer.close()


def murmur2_partition(key, partitions):
    """The partition that Java's default partitioner gives `key`."""
    mask = 0xFFFFFFFF
    hashed = (0x9747B28C ^ len(key)) & mask
    whole = len(key) & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(key[start:start + 4], "little") * 0x5BD1E995 & mask
        k = (k ^ k >> 24) * 0x5BD1E995 & mask
        hashed = hashed * 0x5BD1E995 & mask ^ k
    if len(key) > whole:
        hashed = (hashed ^ int.from_bytes(key[whole:], "little")) * 0x5BD1E995 & mask
    hashed = (hashed ^ hashed >> 13) * 0x5BD1E995 & mask
    return ((hashed ^ hashed >> 15) & 0x7FFFFFFF) % partitions
