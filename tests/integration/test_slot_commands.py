"""`walpost slots` on every server: what it shows, what it refuses, what it leaves as it was."""

import csv
import io
import json
import signal
import subprocess

import pytest

from support.postgres import TempPostgres, lsn
from support.relay import binary, run_verb
from support.tables import PLAIN_TABLE, insert
from throwaway import wait_until

MAJORS = [14, 15, 16, 17, 18]


@pytest.fixture(scope="module", params=MAJORS)
def server(request):
    cluster = TempPostgres("max_prepared_transactions=5", version=None if request.param == 15 else request.param)
    cluster.major = request.param
    yield cluster
    cluster.drop()


@pytest.fixture
def database(server):
    database = server.database()
    database.run(PLAIN_TABLE)
    database.create_slot("relay", "outbox")
    yield database
    database.drop()


def slots(database, *arguments, **keywords):
    return run_verb("slots", *arguments, "-d", database.dsn, **keywords)


def good(database, *arguments):
    result = slots(database, *arguments)
    assert result.returncode == 0, result.stderr
    return result


def row(database, name="relay", *arguments):
    document = json.loads(good(database, "list", "-o", "json", "--sample", "0s", *arguments).stdout)
    assert document["version"] == 1
    return next(slot for slot in document["slots"] if slot["slot_name"] == name)


def state(database):
    """All of pg_replication_slots that a command could change."""
    return database.rows("SELECT slot_name, plugin, restart_lsn::text, confirmed_flush_lsn::text, active_pid, "
                         "to_jsonb(s) ->> 'failover' FROM pg_replication_slots s ORDER BY 1")


# Would catch: a column that a version lacks, a slot that is hidden, a format that a program can't read.
def test_list(server, database):
    database.run("SELECT pg_create_logical_replication_slot('raw', 'test_decoding')")
    insert(database, "a")
    slot = row(database)
    assert slot["plugin"] == "pgoutput" and slot["database"] == database.name and not slot["active"]
    assert lsn(slot["confirmed_flush_lsn"]) == database.confirmed("relay")
    assert slot["retained_bytes"] >= slot["unconfirmed_bytes"] > 0
    assert slot["verdict"] == "OK" and (slot["inactive_since"] is None) == (server.major < 17)
    assert row(database, "raw")["plugin"] == "test_decoding"
    lines = good(database, "list", "-o", "ndjson", "--sample", "0s").stdout.splitlines()
    assert {json.loads(line)["slot_name"] for line in lines} == {"relay", "raw"}
    table = list(csv.DictReader(io.StringIO(good(database, "list", "-o", "csv", "--sample", "0s").stdout)))
    assert {line["slot_name"] for line in table} == {"relay", "raw"} and table[0]["verdict"] == "OK"
    text = good(database, "list", "--sample", "100ms").stdout
    assert "VERDICT" in text and "WAL grows by" in text and "\x1b" not in text


# Would catch: a holder that isn't named, and commands that harm a slot somebody reads.
def test_active_slot(database, kafka, topic, new_relay):
    relay = new_relay(database, kafka, topic).start()
    insert(database, "a")
    database.wait_confirmed("relay")
    slot = row(database)
    assert slot["active"] and slot["active_pid"] == database.slot("relay")["active_pid"]
    assert slot["application_name"] == "walpost" and slot["active_since"].endswith("Z")
    shown = json.loads(good(database, "show", "relay", "-o", "json", "--sample", "0s").stdout)
    assert shown["consumer"]["flush_lsn"] and shown["undelivered_events"] == 0
    before = state(database)
    for command in (["drop", "relay", "--yes"], ["advance", "relay", "--to", "end", "--yes"]):
        database.run("SELECT txid_current()")
        refused = slots(database, *command)
        assert refused.returncode == 64 and "in use by pid" in refused.stderr and "--terminate" in refused.stderr
    assert [r[4] for r in state(database)] == [r[4] for r in before]
    relay.kill9()
    database.wait_inactive("relay")
    assert good(database, "drop", "relay", "--yes").stderr.count("-> gone") == 1
    assert database.slot("relay") is None


# Would catch: events that are lost by accident, or a dry run that does something.
def test_undelivered_events(database):
    insert(database, "a", "b", "c")
    before = state(database)
    for command in (["drop", "relay"], ["advance", "relay", "--to", "event:b"], ["advance", "relay", "--to", "end"]):
        dry = good(database, *command, "--dry-run")
        assert dry.stdout.splitlines()[-1].endswith(";") and "undelivered" in dry.stderr
        refused = slots(database, *command, "--yes")
        assert refused.returncode == 64 and "--lose-events" in refused.stderr
        no_terminal = slots(database, *command, "--lose-events")
        assert no_terminal.returncode == 64 and "no terminal" in no_terminal.stderr and "--yes" in no_terminal.stderr
        assert state(database) == before
    events = json.loads(good(database, "peek", "relay", "-o", "json").stdout)
    assert [event["eventId"] for event in events["events"]] == ["a", "b", "c"] and events["complete"]
    assert state(database) == before

    moved = good(database, "advance", "relay", "--to", "event:b", "--yes", "--lose-events", "-o", "json")
    assert [event["id"] for event in json.loads(moved.stdout)["skipped"]] == ["a", "b"]
    assert "-> " in moved.stderr
    left = [json.loads(line)["eventId"] for line in good(database, "peek", "relay", "-o", "ndjson").stdout.splitlines()]
    assert left == ["c"]
    back = slots(database, "advance", "relay", "--to", "0/10", "--yes", "--lose-events")
    assert back.returncode == 64 and "never goes back" in back.stderr
    beyond = slots(database, "advance", "relay", "--to", "FFFFFFFF/0", "--yes", "--lose-events")
    assert beyond.returncode == 64 and "beyond the end of WAL" in beyond.stderr
    unknown = slots(database, "advance", "relay", "--to", "event:zzz", "--yes")
    assert unknown.returncode == 64 and "no event with the id 'zzz'" in unknown.stderr
    good(database, "advance", "relay", "--to", "end", "--yes", "--lose-events")
    assert good(database, "drop", "relay", "--yes").returncode == 0


# Would catch: another application's slot dropped in passing.
def test_foreign_slot(database):
    database.run("SELECT pg_create_logical_replication_slot('raw', 'test_decoding')")
    database.run("SELECT pg_create_physical_replication_slot('standby')")
    insert(database, "a")
    before = state(database)
    for name in ("raw", "standby"):
        refused = slots(database, "drop", name, "--yes")
        assert refused.returncode == 64 and "--any-plugin" in refused.stderr
    physical = slots(database, "advance", "standby", "--to", "end", "--yes")
    assert physical.returncode == 78 and "physical" in physical.stderr
    assert state(database) == before
    assert "INSERT" in good(database, "peek", "raw").stdout
    assert state(database) == before
    for name in ("raw", "standby"):
        good(database, "drop", name, "--yes", "--any-plugin")
    assert [r[0] for r in state(database)] == ["relay"]


# Would catch: a message that doesn't say what to type.
def test_errors(server, database):
    wrong = slots(database, "show", "rely")
    assert wrong.returncode == 78 and "did you mean 'relay'?" in wrong.stderr
    other = server.database()
    elsewhere = slots(other, "peek", "relay")
    assert elsewhere.returncode == 78 and f"belongs to database '{database.name}'" in elsewhere.stderr
    other.drop()
    assert slots(database, "advance", "relay", "--to", "nonsense").returncode == 64
    away = run_verb("slots", "list", "-d", "host=127.0.0.1 port=1 dbname=x")
    assert away.returncode == 69
    assert run_verb("slots", "check", "-d", "host=127.0.0.1 port=1 dbname=x").returncode == 3
    if server.major < 17:
        old = slots(database, "failover", "relay", "on")
        assert old.returncode == 78 and "needs Postgres 17" in old.stderr


# Would catch: a half-made slot, a wait without end, a slot older than its publication.
def test_create(server, database):
    database.run("CREATE PUBLICATION other FOR TABLE outbox")
    missing = slots(database, "create", "fresh", "--publication", "nowhere")
    assert missing.returncode == 78 and "does not exist" in missing.stderr
    assert slots(database, "create", "Fresh", "--publication", "other").returncode == 64
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO outbox (id) VALUES ('open')")
        blocked = slots(database, "create", "fresh", "--publication", "other", "--wait", "2s")
        assert blocked.returncode == 69 and "waiting for the transaction of pid" in blocked.stderr
        assert "nothing was left behind" in blocked.stderr
    assert database.slot("fresh") is None
    made = good(database, "create", "fresh", "--publication", "other", "-o", "json")
    assert json.loads(made.stdout)["consistent_point"] == database.slot("fresh")["confirmed_flush_lsn"]
    assert slots(database, "create", "fresh", "--publication", "other").returncode == 78
    good(database, "create", "fresh", "--publication", "other", "--if-not-exists")
    if server.major >= 17:
        good(database, "create", "survivor", "--publication", "other", "--failover")
        assert row(database, "survivor")["failover"]
        for look in (["failover", "survivor", "off", "--dry-run"], ["failover", "survivor"], ["failover"]):
            good(database, *look)
            assert row(database, "survivor")["failover"]
        unfit = slots(database, "create", "fresh", "--publication", "other", "--if-not-exists", "--failover")
        assert unfit.returncode == 78 and "doesn't survive a failover" in unfit.stderr
        good(database, "failover", "survivor", "off")
        assert not row(database, "survivor")["failover"]


# Would catch: Ctrl-C during the wait, and a slot that the server makes afterwards for nobody.
def test_create_interrupted(database):
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO outbox (id) VALUES ('open')")
        process = subprocess.Popen([binary(), "slots", "create", "fresh", "--publication", "relay", "-d",
                                    database.dsn + " application_name=mine"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert "waiting for the transaction of pid" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 69
        assert "nothing was left behind" in process.stderr.read()
    assert database.slot("fresh") is None


# Would catch: a slot whose pending work isn't outbox events, and that is dropped as if it were empty.
def test_other_changes_count(database):
    database.run("CREATE TABLE account (id int PRIMARY KEY)")
    database.run("CREATE PUBLICATION everything FOR TABLE account")
    database.run("SELECT pg_create_logical_replication_slot('subscription', 'pgoutput')")
    database.run("INSERT INTO account VALUES (1)")
    database.run("DELETE FROM account")
    before = state(database)
    guessed = slots(database, "drop", "subscription", "--yes")
    assert guessed.returncode == 64 and "--publication" in guessed.stderr
    wrong = slots(database, "drop", "subscription", "--yes", "--publication", "everything")
    assert wrong.returncode == 64 and "undelivered" in wrong.stderr
    database.run("SELECT pg_logical_emit_message(true, 'outbox', '{}')")
    message = slots(database, "drop", "relay", "--yes")
    assert message.returncode == 64 and "1 other changes" in message.stderr
    assert state(database) == before
    good(database, "drop", "subscription", "--yes", "--lose-events")


# Would catch: a snapshot that isn't of the slot's start.
def test_create_with_a_snapshot(database):
    insert(database, "before")
    process = subprocess.Popen([binary(), "slots", "create", "fresh", "--publication", "relay", "--snapshot", "-o", "json",
                                "-d", database.dsn], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    snapshot = json.loads(process.stdout.readline())["snapshot_name"]
    insert(database, "after")
    with database.transaction() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
        cursor.execute("SELECT id FROM outbox")
        assert cursor.fetchall() == [("before",)]
    process.communicate(timeout=30)
    assert process.returncode == 0
    events = [json.loads(line)["eventId"] for line in good(database, "peek", "fresh", "--publication", "relay", "-o", "ndjson").stdout.splitlines()]
    assert events == ["after"]


# Would catch: a pin that isn't named, so that an operator drops the wrong thing.
def test_what_pins_it(database):
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO outbox (id) VALUES ('prepared')")
        cursor.execute("PREPARE TRANSACTION 'payment 7'")
    try:
        with database.transaction() as cursor:
            cursor.execute("INSERT INTO outbox (id) VALUES ('open')")
            shown = json.loads(good(database, "show", "relay", "-o", "json", "--sample", "0s", "--old", "0s").stdout)
            pins = " ".join(pin["what"] + pin["hint"] for pin in shown["pinned_by"])
            assert "prepared transaction 'payment 7'" in pins and "ROLLBACK PREPARED" in pins
            assert "transaction of pid" in pins and "idle in transaction" in pins
            text = good(database, "show", "relay", "--sample", "0s", "--old", "0s").stdout
            assert "pinned by" in text and "→" in text
    finally:
        database.run("ROLLBACK PREPARED 'payment 7'")


# Would catch: a plugin whose exit code or perfdata a monitoring system misreads.
def test_check(database):
    fine = slots(database, "check")
    assert fine.returncode == 0 and fine.stdout.startswith("SLOTS OK") and "'relay'=" in fine.stdout.split("|")[1]
    insert(database, "a")
    assert slots(database, "check", "--warn", "1", "--crit", "1GB").returncode == 1
    critical = slots(database, "check", "--warn", "1", "--crit", "1")
    assert critical.returncode == 2 and critical.stdout.startswith("SLOTS CRITICAL") and "relay" in critical.stdout
    assert len(critical.stdout.splitlines()) == 1
    assert slots(database, "check", "--slot", "nobody").returncode == 3


# Would catch: an audit that finds nothing, or says a fix that doesn't run.
def test_doctor(server, database):
    database.run("CREATE TABLE narrow (id text, note text)")
    database.run("CREATE PUBLICATION nothing")
    database.run("CREATE PUBLICATION deaf FOR TABLE outbox WITH (publish = 'update')")
    if server.major >= 15:
        database.run("CREATE PUBLICATION picky FOR TABLE outbox WHERE (id <> 'x')")
    findings = json.loads(good(database, "doctor", "-o", "json", "--sample", "0s").stdout)["findings"]
    by_what = {finding["what"]: finding for finding in findings}
    assert by_what["wal_level is logical"]["verdict"] == "OK"
    assert by_what["max_slot_wal_keep_size is unlimited"]["verdict"] == "WARN"
    assert "matches no table" in by_what["publication nothing"]["why"]
    fixes = [f for f in findings if f["what"].startswith(("publication deaf", "publication picky"))]
    assert len(fixes) == (2 if server.major >= 15 else 1)
    for finding in fixes:
        database.run(finding["sql"])
    again = json.loads(good(database, "doctor", "-o", "json", "--sample", "0s").stdout)["findings"]
    assert all(f["verdict"] == "OK" for f in again if f["what"].startswith(("publication deaf", "publication picky")))
    text = good(database, "doctor", "--sample", "0s").stdout
    assert "✓ wal_level is logical" in text and "! publication nothing" in text


# Would catch: a command that needs a superuser to look, or hides that it sees less.
def test_few_rights(database):
    database.run("DROP ROLE IF EXISTS visitor")
    database.run("CREATE ROLE visitor LOGIN")
    try:
        dsn = database.dsn.replace("user=postgres", "user=visitor")
        result = run_verb("slots", "list", "-d", dsn, "-o", "json", "--sample", "0s")
        assert result.returncode == 0 and "GRANT pg_monitor TO \"visitor\"" in result.stderr
        assert json.loads(result.stdout)["slots"][0]["slot_name"] == "relay"
        shown = run_verb("slots", "show", "relay", "-d", dsn, "--sample", "0s")
        assert shown.returncode == 0 and "lacks REPLICATION" in shown.stdout
        assert run_verb("slots", "doctor", "-d", dsn, "--sample", "0s").returncode == 0
        denied = run_verb("slots", "drop", "relay", "-d", dsn, "--yes", "--lose-events")
        assert denied.returncode == 77, denied.stderr
        assert database.slot("relay") is not None
    finally:
        database.run("DROP ROLE visitor")


# Would catch: a slot that is called healthy although its events are gone.
def test_invalidated(database):
    cluster = database.cluster
    cluster.stop()
    cluster.configure("max_slot_wal_keep_size=16MB", "min_wal_size=32MB", "max_wal_size=64MB")
    cluster.start()
    database.close()
    try:
        database.run("CREATE TABLE filler (t text)")

        def lost():
            database.run("INSERT INTO filler SELECT repeat(md5(n::text), 100) FROM generate_series(1, 20000) n")
            database.run("SELECT pg_switch_wal()")
            database.run("CHECKPOINT")
            return row(database)["wal_status"] == "lost"
        wait_until(lost, 60, "the slot is invalidated")
        slot = row(database)
        assert slot["verdict"] == "CRIT" and "invalidated" in slot["reason"] and "drop relay" in slot["hint"]
        assert slots(database, "check").returncode == 2
        assert "it was invalidated" in good(database, "show", "relay", "--sample", "0s").stdout
        peek = slots(database, "peek", "relay")
        assert peek.returncode != 0
        good(database, "drop", "relay", "--yes")
    finally:
        cluster.stop()
        cluster.configure("max_slot_wal_keep_size=-1")
        cluster.start()
        database.close()
