"""`walpost slots` where it counts: time until a slot is lost, failover pairs, a live screen."""

import json
import os
import subprocess
import threading
import time

import pytest

from support.postgres import TempPostgres
from support.relay import binary, run_verb
from support.tables import PLAIN_TABLE, insert
from throwaway import wait_until


def slot_row(database, name="relay", sample="0s"):
    result = run_verb("slots", "list", "-d", database.dsn, "-o", "json", "--sample", sample)
    assert result.returncode == 0, result.stderr
    return next((slot for slot in json.loads(result.stdout)["slots"] if slot["slot_name"] == name), None)


class Writer(threading.Thread):
    """Fills WAL at a steady rate."""

    def __init__(self, database):
        super().__init__(daemon=True)
        self.connection = database.connect()
        self.stopping = threading.Event()

    def run(self):
        with self.connection.cursor() as cursor:
            while not self.stopping.wait(0.02):
                cursor.execute("SELECT pg_logical_emit_message(false, 'filler', repeat('x', 60000))")

    def stop(self):
        self.stopping.set()
        self.join(30)
        self.connection.close()


# Would catch: a promise of hours where there are minutes.
def test_time_to_invalidation():
    cluster = TempPostgres("max_slot_wal_keep_size=48MB", "min_wal_size=32MB", "max_wal_size=2GB")
    try:
        database = cluster.database()
        database.run(PLAIN_TABLE)
        database.create_slot("relay", "outbox")
        writer = Writer(database)
        writer.start()
        predicted = slot_row(database, sample="3s")["seconds_to_invalidation"]
        begin = time.monotonic()
        # From then on the next checkpoint invalidates it.
        wait_until(lambda: slot_row(database)["wal_status"] in ("unreserved", "lost"), 120, "the slot is no longer safe")
        took = time.monotonic() - begin
        writer.stop()
        assert abs(took - predicted) < 0.2 * took + 0.5, f"predicted {predicted:.1f} s, it took {took:.1f} s"
        assert slot_row(database)["verdict"] == "CRIT"
    finally:
        cluster.drop()


# Would catch: a slot called ready for a failover that loses it, a standby that can't be looked at.
@pytest.mark.parametrize("major", [17, 18])
def test_failover_pair(major):
    primary = TempPostgres(version=major)
    standby = None
    try:
        database = primary.database()
        database.run(PLAIN_TABLE)
        database.run("CREATE PUBLICATION relay FOR TABLE outbox")
        database.run("SELECT pg_create_physical_replication_slot('ph')")
        database.close()
        standby = TempPostgres("primary_slot_name=ph", "hot_standby_feedback=on", "sync_replication_slots=on",
                               version=major, standby_of=primary)
        made = run_verb("slots", "create", "relay", "--publication", "relay", "--failover", "-d", database.dsn)
        assert made.returncode == 0, made.stderr
        copy_dsn = standby.dsn(database.name)

        def synced():
            # Moves the slot along, so that the standby's copy can become a persistent one.
            insert(database, f"e{time.monotonic_ns()}")
            run_verb("slots", "advance", "relay", "--to", "end", "--yes", "--lose-events", "-d", database.dsn)
            result = run_verb("slots", "list", "-d", copy_dsn, "-o", "json", "--sample", "0s")
            found = [s for s in json.loads(result.stdout)["slots"] if s["slot_name"] == "relay"]
            return bool(found) and found[0]["synced"] and not found[0]["temporary"]
        wait_until(synced, 90, "the slot is synced", interval=0.5)

        ready = run_verb("slots", "failover", "-d", copy_dsn)
        assert ready.returncode == 0 and "slot relay: synced" in ready.stdout and "sync_replication_slots = 'on'" in ready.stdout
        missing = run_verb("slots", "failover", "-d", database.dsn)
        assert "slot relay: failover" in missing.stdout and "synchronized_standby_slots" in missing.stdout, missing.stdout
        for command in (["advance", "relay", "--to", "end", "--yes"], ["create", "x", "--publication", "relay"],
                        ["drop", "relay", "--yes"], ["failover", "relay", "off"]):
            refused = run_verb("slots", *command, "-d", copy_dsn)
            assert refused.returncode == 78 and "standby" in refused.stderr, (command, refused.stderr)
        assert run_verb("slots", "show", "relay", "-d", copy_dsn, "--sample", "0s").returncode == 0
    finally:
        if standby:
            standby.drop()
        primary.drop()


# Would catch: a screen that doesn't redraw, a terminal that is left in pieces, a name that is not asked for.
def test_on_a_terminal(database, tmp_path):
    database.run(PLAIN_TABLE)
    database.create_slot("relay", "outbox")
    socket = str(tmp_path / "tmux")

    def tmux(*arguments):
        return subprocess.run(["tmux", "-S", socket, "-f", "/dev/null", *arguments], check=True, text=True, timeout=30,
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm-256color"}).stdout

    def screen():
        return tmux("capture-pane", "-p", "-t", "w")
    tmux("new-session", "-d", "-s", "w", "-x", "200", "-y", "40", "/bin/sh")
    try:
        tmux("send-keys", "-t", "w", f"{binary()} slots watch --interval 300ms -d '{database.dsn}'", "Enter")
        wait_until(lambda: "walpost slots watch" in screen() and "relay" in screen(), 30, "the list is drawn")
        assert "VERDICT" in screen() and "q quits" in screen() and "$ " not in screen()
        before = screen()
        insert(database, "a")
        wait_until(lambda: screen() != before and any(bar in screen() for bar in "▁▂▃▄▅▆▇█"), 30, "it is drawn again")
        tmux("send-keys", "-t", "w", "q")
        wait_until(lambda: "VERDICT" not in screen(), 30, "the screen is given back")
        tmux("send-keys", "-t", "w", f"{binary()} slots drop relay --lose-events -d '{database.dsn}'; echo code $?", "Enter")
        wait_until(lambda: "type the slot's name:" in screen(), 30, "asks")
        tmux("send-keys", "-t", "w", "something", "Enter")
        wait_until(lambda: "code 64" in screen(), 30, "refuses a wrong name")
        assert database.slot("relay") is not None
        tmux("send-keys", "-t", "w", "clear", "Enter")
        tmux("send-keys", "-t", "w", f"{binary()} slots drop relay --lose-events -d '{database.dsn}'; echo code $?", "Enter")
        wait_until(lambda: "type the slot's name:" in screen(), 30, "asks")
        tmux("send-keys", "-t", "w", "relay", "Enter")
        wait_until(lambda: "code 0" in screen(), 30, "drops it")
        assert database.slot("relay") is None
    finally:
        tmux("kill-server")


# Would catch: a stream that waits in a buffer, a table that is repeated where nobody looks.
def test_watch_without_a_terminal(database):
    database.run(PLAIN_TABLE)
    database.create_slot("relay", "outbox")
    once = run_verb("slots", "watch", "-d", database.dsn, "--interval", "100ms")
    assert once.returncode == 0 and once.stdout.count("VERDICT") == 1 and "\x1b" not in once.stdout
    with subprocess.Popen([binary(), "slots", "watch", "-o", "ndjson", "--interval", "200ms", "-d", database.dsn],
                          stdout=subprocess.PIPE, text=True) as process:
        lines = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.terminate()
        assert process.wait(30) == 0
    assert all(line["slot_name"] == "relay" for line in lines)
