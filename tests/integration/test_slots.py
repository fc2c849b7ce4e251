"""Slots and publications that vanish, change or were never right: stop, and say so."""

import contextlib

import psycopg2
import pytest

from support import envelope
from support.tables import PLAIN_TABLE, insert


def cut_off(database, relay):
    """Ends the relay's walsender, as often as it comes back, until the slot is free for us."""
    with contextlib.suppress(psycopg2.errors.UndefinedObject):
        pid = database.slot("relay")["active_pid"]
        if pid:
            database.run("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def act_while_away(database, relay, action):
    """Runs `action` on the slot in a moment in which the relay has lost it."""
    def try_it():
        cut_off(database, relay)
        try:
            action()
        except psycopg2.errors.ObjectInUse:
            return False
        return True
    relay.wait(try_it, 30, "the slot is ours for a moment")


# Would catch: a gap that nobody hears of: the slot recreated (or advanced) while the relay lives.
@pytest.mark.parametrize("how", ["recreated", "advanced"])
def test_gap(how, outbox, kafka, topic, new_relay):
    relay = new_relay(outbox, kafka, topic).start()
    insert(outbox, "1")
    outbox.wait_confirmed("relay")

    def action():
        if how == "recreated":
            outbox.run("SELECT pg_drop_replication_slot('relay')")
            insert(outbox, "lost")
            outbox.run("SELECT pg_create_logical_replication_slot('relay', 'pgoutput')")
        else:
            insert(outbox, "lost")
            outbox.run("SELECT pg_replication_slot_advance('relay', pg_current_wal_lsn())")
    act_while_away(outbox, relay, action)
    assert relay.wait_exit() == 65
    assert "gap: slot 'relay' is at" in relay.log()


# Would catch: a relay that makes a slot anew, or waits for one that is gone.
def test_slot_dropped(outbox, kafka, topic, new_relay):
    relay = new_relay(outbox, kafka, topic).start()
    act_while_away(outbox, relay, lambda: outbox.run("SELECT pg_drop_replication_slot('relay')"))
    assert relay.wait_exit() == 65
    assert "slot 'relay' does not exist" in relay.log()
    assert outbox.slot("relay") is None


CHANGES = {
    "publication dropped": ("DROP PUBLICATION relay", "publication 'relay' does not exist"),
    "publication without the table": ("ALTER PUBLICATION relay DROP TABLE outbox", "does not contain the table public.outbox"),
    "publication without inserts": ("ALTER PUBLICATION relay SET (publish = 'update')", "does not publish inserts"),
    "row filter": ("ALTER PUBLICATION relay SET TABLE outbox WHERE (id <> 'x')", "filters rows or columns"),
    "column list": ("ALTER PUBLICATION relay SET TABLE outbox (id, event_type)", "filters rows or columns"),
    "table dropped and recreated": (f"DROP TABLE outbox; {PLAIN_TABLE}", "does not contain the table public.outbox"),
}


# Would catch: rows that never come, without an error from anywhere: the publication changed under a
# stream that looks healthy.
@pytest.mark.parametrize("change", CHANGES)
def test_publication_changes_under_the_stream(change, outbox, kafka, topic, new_relay):
    sql, message = CHANGES[change]
    relay = new_relay(outbox, kafka, topic).start()
    outbox.run(sql)
    assert relay.wait_exit(40) == 65
    assert message in relay.log()


AT_START = {
    "no slot": ("SELECT pg_drop_replication_slot('relay')", {}, "slot 'relay' does not exist"),
    "another plugin": ("SELECT pg_create_logical_replication_slot('other', 'test_decoding')", {"slot": "other"},
                       "uses the plugin 'test_decoding'"),
    "physical": ("SELECT pg_create_physical_replication_slot('other')", {"slot": "other"}, "is a physical slot"),
    "two_phase": ("SELECT pg_create_logical_replication_slot('other', 'pgoutput', false, true)", {"slot": "other"},
                  "has two_phase on"),
    "no publication": ("SELECT 1", {"publication": "nothing"}, "publication 'nothing' does not exist"),
    "no table": ("SELECT 1", {"table": "public.outbux"}, "the table public.outbux does not exist"),
    "upper case": ("SELECT 1", {"table": "public.Outbox"}, "the table public.Outbox does not exist"),
    "unlogged": ("CREATE UNLOGGED TABLE second (LIKE outbox); CREATE PUBLICATION everything FOR ALL TABLES",
                 {"table": "public.second", "publication": "everything"}, "is unlogged"),
    "table not published": ("CREATE TABLE second (LIKE outbox)", {"table": ["public.outbox", "public.second"]},
                            "does not contain the table public.second"),
}


# Would catch: a start that retries for ever, streams nothing, or makes what is missing.
@pytest.mark.parametrize("case", AT_START)
def test_unfit_at_the_start(case, outbox, kafka, topic, new_relay):
    sql, source, message = AT_START[case]
    outbox.run(sql)
    slots = outbox.rows("SELECT slot_name FROM pg_replication_slots ORDER BY 1")
    relay = new_relay(outbox, kafka, topic, sections={"source": source}).start(ready=False)
    assert relay.wait_exit(30) == 78
    assert message in relay.log() and "hint" in relay.log()
    assert outbox.rows("SELECT slot_name FROM pg_replication_slots ORDER BY 1") == slots
    physical = outbox.rows("SELECT 1 FROM pg_replication_slots WHERE slot_name = 'other' AND slot_type = 'physical'")
    if physical:
        outbox.run("SELECT pg_drop_replication_slot('other')")


def test_slot_of_another_database(outbox, postgres, kafka, topic, new_relay):
    second = postgres.database()
    second.run(PLAIN_TABLE)
    second.run("CREATE PUBLICATION relay FOR TABLE outbox")
    relay = new_relay(second, kafka, topic).start(ready=False)
    assert relay.wait_exit(30) == 78
    assert f"slot 'relay' belongs to database '{outbox.name}', not '{second.name}'" in relay.log()
    second.drop()


# Would catch: an invalidated slot that is retried for ever, since while streaming it looks like any
# ended walsender.
def test_slot_invalidated(private_postgres, kafka, topic, new_relay):
    database = private_postgres.database()
    database.run(PLAIN_TABLE)
    database.create_slot("relay", "outbox")
    relay = new_relay(database, kafka, topic).start()
    insert(database, "1")
    database.wait_confirmed("relay")
    relay.process.send_signal(19)  # SIGSTOP: it can't confirm
    database.run("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
    database.run("SELECT pg_reload_conf()")
    for number in range(4):
        insert(database, f"lost {number}")
        database.run("SELECT pg_switch_wal()")
    database.run("CHECKPOINT")
    assert database.slot("relay")["wal_status"] == "lost"
    relay.process.send_signal(18)
    try:
        assert relay.wait_exit(60) == 65
        assert "invalidated" in relay.log() or "exceeded the maximum reserved size" in relay.log()
    finally:
        database.run("ALTER SYSTEM RESET max_slot_wal_keep_size")
        database.run("SELECT pg_reload_conf()")
        relay.close()
        database.drop()


# Would catch: an open transaction during ADD TABLE whose row is lost, or a relay that stops at it.
def test_table_added_to_the_publication_with_a_transaction_open(database, kafka, reader, topic, new_relay):
    database.run(PLAIN_TABLE)
    database.run("CREATE PUBLICATION relay WITH (publish = 'insert')")
    database.run("SELECT pg_create_logical_replication_slot('relay', 'pgoutput')")
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO outbox (id) VALUES ('open')")
        database.run("ALTER PUBLICATION relay ADD TABLE outbox")
    relay = new_relay(database, kafka, topic).start()
    insert(database, "after")
    database.wait_confirmed("relay")
    assert "after" in envelope.ids(reader, topic)
    relay.check_alive()
