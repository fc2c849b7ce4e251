"""Throw-away Postgres clusters and databases, by tools/temp_postgres."""

import contextlib
import itertools
import os
import shutil
import tempfile

import psycopg2

from .process import run_tool
from throwaway import wait_until


def lsn(text):
    """An LSN as a number, so that it can be compared."""
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


class TempPostgres:
    """A cluster of its own. `stop` and `start` keep the data and the port."""

    def __init__(self, *options, tcp=False, version=None, standby_of=None):
        """`standby_of`: another cluster, which is stopped and copied, and has to be started again."""
        # Not pytest's tmp_path: the path of a Unix socket is short, and the user postgres must get in.
        self.parent = tempfile.mkdtemp(prefix="walpost-pg-", dir="/tmp")
        os.chmod(self.parent, 0o711)
        self.directory = os.path.join(self.parent, "pg")
        self.arguments = ["--version", str(version)] if version else []
        self.arguments += (["--tcp"] if tcp else []) + [part for option in options for part in ("-o", option)]
        self.names = itertools.count(1)
        if standby_of:
            standby_of.stop()
            run_tool("temp_postgres", "standby", standby_of.directory, self.directory)
            standby_of.start()
        self.start()

    def configure(self, *options):
        """Settings for the next start."""
        self.arguments = [part for option in options for part in ("-o", option)]

    def start(self):
        facts = run_tool("temp_postgres", "start", self.directory, *self.arguments)
        self.arguments = []
        self.host, self.port, self.pid = facts["host"], facts["port"], facts["pid"]

    def stop(self, mode="fast", timeout=60):
        """Raises when the cluster is not down within `timeout` seconds."""
        run_tool("temp_postgres", "stop", self.directory, "--mode", mode, "--timeout", str(timeout))

    def drop(self):
        run_tool("temp_postgres", "drop", self.directory)
        shutil.rmtree(self.parent, ignore_errors=True)

    def dsn(self, database="postgres"):
        return f"host={self.host} port={self.port} user=postgres dbname={database}"

    def database(self):
        """A fresh database."""
        name = f"test_{next(self.names)}"
        with contextlib.closing(psycopg2.connect(self.dsn())) as connection:
            connection.autocommit = True
            connection.cursor().execute(f"CREATE DATABASE {name}")
        return Database(self, name)


class Database:
    """One database with its slots. Statements run on one autocommit connection, opened when needed."""

    def __init__(self, cluster, name):
        self.cluster = cluster
        self.name = name
        self.connection = None

    @property
    def dsn(self):
        return self.cluster.dsn(self.name)

    def connect(self, autocommit=True):
        connection = psycopg2.connect(self.dsn, application_name="test")
        connection.autocommit = autocommit
        return connection

    def rows(self, sql, parameters=None):
        """Runs one statement and returns its rows ([] if it has none)."""
        if self.connection is None or self.connection.closed:
            self.connection = self.connect()
        with self.connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []

    def value(self, sql, parameters=None):
        """The single value of a query."""
        return self.rows(sql, parameters)[0][0]

    def run(self, sql, parameters=None):
        self.rows(sql, parameters)

    @contextlib.contextmanager
    def transaction(self):
        """A cursor in a transaction of its own connection: committed at the end, rolled back on an error."""
        with contextlib.closing(self.connect(autocommit=False)) as connection:
            with connection, connection.cursor() as cursor:
                yield cursor

    def create_slot(self, slot, table, publication=None):
        """Publication and slot by plain SQL, so that a test of `run` does not depend on `setup`."""
        self.run(f"CREATE PUBLICATION {publication or slot} FOR TABLE {table} WITH (publish = 'insert')")
        self.run("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (slot,))

    def slot(self, slot):
        """The slot's row as a dictionary, or None."""
        rows = self.rows("SELECT active, active_pid, restart_lsn::text, confirmed_flush_lsn::text, wal_status "
                         "FROM pg_replication_slots WHERE slot_name = %s", (slot,))
        names = ("active", "active_pid", "restart_lsn", "confirmed_flush_lsn", "wal_status")
        return dict(zip(names, rows[0])) if rows else None

    def confirmed(self, slot):
        return lsn(self.slot(slot)["confirmed_flush_lsn"])

    def current_lsn(self):
        return lsn(self.value("SELECT pg_current_wal_lsn()::text"))

    def wait_confirmed(self, slot, through=None, deadline=60):
        """Until the slot is confirmed through `through` (default: all that is committed now)."""
        target = self.current_lsn() if through is None else through
        wait_until(lambda: self.confirmed(slot) >= target, deadline, f"slot {slot} confirmed through {target:X}")

    def wait_inactive(self, slot, deadline=30):
        """Until no walsender holds the slot: then its confirmed_flush_lsn is settled."""
        wait_until(lambda: not self.slot(slot)["active"], deadline, f"slot {slot} is released")

    def drop(self):
        """Removes the slots and the database, whoever still uses them."""
        self.close()
        with contextlib.closing(psycopg2.connect(self.cluster.dsn())) as connection:
            connection.autocommit = True
            cursor = connection.cursor()

            def slots_gone():
                cursor.execute("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots "
                               "WHERE database = %s AND active", (self.name,))
                with contextlib.suppress(psycopg2.errors.ObjectInUse, psycopg2.errors.UndefinedObject):
                    cursor.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
                                   "WHERE database = %s AND NOT active", (self.name,))
                cursor.execute("SELECT NOT EXISTS (SELECT FROM pg_replication_slots WHERE database = %s)", (self.name,))
                return cursor.fetchone()[0]

            wait_until(slots_gone, 30, "slots are dropped")
            cursor.execute(f"DROP DATABASE {self.name} WITH (FORCE)")

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


