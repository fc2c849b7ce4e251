"""What the host does to the relay: clocks that jump, few descriptors, little memory, closed streams."""

import os
import resource
import subprocess

import pytest

from support import envelope
from support.relay import SANITIZED, binary
from support.scenario import SLOT
from support.tables import insert
from throwaway import wait_until

ROWS = 100_000


# Would catch: timers on the wall clock: statuses, time-outs and back-offs that wait for years or never wait.
@pytest.mark.parametrize("clock", ["-1h", "+1h", "@1970-01-02 00:00:00", "@2039-01-01 00:00:00"])
def test_clock_jumps(clock, outbox, kafka, topic, reader, new_relay, tmp_path):
    rule = tmp_path / "clock"
    rule.write_text("+0")
    environment = {"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1", "FAKETIME_NO_CACHE": "1",
                   "FAKETIME_TIMESTAMP_FILE": str(rule), "DONT_FAKE_MONOTONIC": "1"}
    relay = new_relay(outbox, kafka, topic).start(environment=environment)
    insert(outbox, "1")
    outbox.wait_confirmed(SLOT)
    rule.write_text(clock)
    insert(outbox, "2", "3")
    outbox.wait_confirmed(SLOT)
    statuses = relay.metric("walpost_status_updates_sent_total")
    wait_until(lambda: relay.metric("walpost_status_updates_sent_total") > statuses, 30, "statuses by the timer")
    assert relay.is_ready()
    assert envelope.ids(reader, topic) == ["1", "2", "3"]
    # No new session and no stop: threads of librdkafka wait by the kernel's clock, which isn't faked.
    relay.kill9()


if SANITIZED:
    del test_clock_jumps  # faketime's library and a sanitizer's both want to be the first.


# Would catch: descriptors that leak with each session, or an accept that spins when none is left.
def test_few_descriptors(outbox, kafka, topic, reader, new_relay):
    relay = new_relay(outbox, kafka, topic).start(limits={resource.RLIMIT_NOFILE: 32})
    insert(outbox, "0")
    outbox.wait_confirmed(SLOT)

    def descriptors():
        return len(os.listdir(f"/proc/{relay.process.pid}/fd"))
    before = descriptors()
    for number in range(1, 11):
        pid = outbox.slot(SLOT)["active_pid"]
        outbox.run("SELECT pg_terminate_backend(%s)", (pid,))
        relay.wait(lambda: outbox.slot(SLOT)["active_pid"] not in (None, pid), 60, "streams again")
        insert(outbox, str(number))
    outbox.wait_confirmed(SLOT)
    assert envelope.ids(reader, topic) == [str(n) for n in range(11)]
    relay.wait(lambda: descriptors() <= before + 2, 30, "descriptors are given back")
    assert relay.terminate() == 0


# Would catch: a backlog that is held in memory.
def test_little_memory(outbox, kafka, topic, reader, new_relay):
    outbox.run(f"INSERT INTO outbox (id, payload) SELECT n::text, to_json(repeat('x', 500)) FROM generate_series(1, {ROWS}) n")
    limits = {} if SANITIZED else {resource.RLIMIT_DATA: 128 * 1024 * 1024}
    relay = new_relay(outbox, kafka, topic).start(limits=limits)
    outbox.wait_confirmed(SLOT, deadline=120)
    assert reader.count(topic) == ROWS
    assert relay.terminate() == 0


# Would catch: a socket that takes the number of a closed stream and gets the log.
def test_closed_streams(outbox, kafka, topic, reader, new_relay):
    relay = new_relay(outbox, kafka, topic)
    relay.process = subprocess.Popen(["/bin/sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', binary(), "run", "--config", relay.config_path])
    relay.wait_ready()
    insert(outbox, "1")
    outbox.wait_confirmed(SLOT)
    assert envelope.ids(reader, topic) == ["1"]
    assert relay.terminate() == 0
