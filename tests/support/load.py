"""Four writers that commit, roll back and undo savepoints, so that the truth is known afterwards.

Every key belongs to one writer, and its events are numbered in commit order without gaps: a number
that was rolled back is used again. So a loss shows as a gap, and an order is right or wrong. The rows
that a transaction undoes have the event type `doomed`; no consumer may ever see one.

The table itself is the truth (`committed`): rows are never deleted. A seed gives the same choices again.
"""

import contextlib
import json
import random
import threading
import uuid

import psycopg2
import psycopg2.extras

from .verifier import Event

TABLE = """CREATE TABLE {table} (
    id             uuid PRIMARY KEY,
    aggregate_type varchar(64) NOT NULL,
    aggregate_id   varchar(64) NOT NULL,
    event_type     varchar(64) NOT NULL,
    payload        jsonb NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    published_at   timestamptz
)"""
INSERT = "INSERT INTO {table} (id, aggregate_type, aggregate_id, event_type, payload) VALUES %s"

ROLLBACK_SHARE = 0.15
SAVEPOINT_SHARE = 0.25
ROWS_MAX = 50


class Load:
    """`start`, let it run, `stop`. With `rows` it also ends by itself once so many are committed.

    A writer rests for up to `pause` seconds between transactions, so that a relay under a sanitizer keeps up.
    """

    def __init__(self, database, seed, table="outbox", aggregate_type="load", writers=4, keys=16, rows=None, pause=0.02):
        self.database = database
        self.table = table
        self.aggregate_type = aggregate_type
        self.rows = rows
        self.pause = pause
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.committed_rows = 0
        self.acknowledged = set()  # ids whose COMMIT returned
        self.errors = []
        self.writers = [Writer(self, number, seed, keys) for number in range(writers)]

    def create_table(self):
        self.database.run(TABLE.format(table=self.table))

    def start(self):
        for writer in self.writers:
            writer.thread.start()

    def stop(self):
        self.stopping.set()
        self.join()

    def join(self, deadline=120):
        for writer in self.writers:
            if writer.thread.ident is None:
                continue  # Never started.
            writer.thread.join(deadline)
            if writer.thread.is_alive():
                raise TimeoutError("a writer does not end")
        if self.errors:
            raise self.errors[0]

    def count(self, ids):
        with self.lock:
            self.committed_rows += len(ids)
            self.acknowledged.update(ids)
            if self.rows is not None and self.committed_rows >= self.rows:
                self.stopping.set()

    def committed(self):
        """The truth: what the table holds. Also checks that no acknowledged commit is missing from it."""
        rows = self.database.rows(f"SELECT id::text, aggregate_id, event_type, payload, payload::text FROM {self.table}")
        events = [Event(id, key, kind, text.encode(), payload["seq"], (payload["writer"], payload["txno"]),
                        payload["pos"]) for id, key, kind, payload, text in rows]
        missing = self.acknowledged - {event.event_id for event in events}
        assert not missing, f"Postgres or the load is wrong: {len(missing)} acknowledged rows are not in the table"
        assert not any(event.event_type == "doomed" for event in events), "the load committed a doomed row"
        return events


class Writer:
    def __init__(self, load, number, seed, keys):
        self.load = load
        self.number = number
        self.random = random.Random(f"{seed}/{number}")
        self.keys = [f"w{number}-k{key}" for key in range(keys)]
        self.weights = [1 / (rank + 1) for rank in range(keys)]
        self.counters = dict.fromkeys(self.keys, 0)
        self.txno = 0
        self.thread = threading.Thread(target=self.run, name=f"writer {number}", daemon=True)

    def run(self):
        try:
            while not self.load.stopping.is_set():
                try:
                    self.session()
                except psycopg2.InterfaceError:
                    pass
                except psycopg2.DatabaseError as error:
                    # A server that vanished has no SQLSTATE to say so.
                    if error.pgcode is not None and not isinstance(error, psycopg2.OperationalError):
                        raise
                # Postgres is away: come back a little later.
                self.load.stopping.wait(0.05)
        except BaseException as error:  # Reported by join(), in the test's thread.
            self.load.errors.append(error)
            self.load.stopping.set()

    def session(self):
        with contextlib.closing(self.load.database.connect(autocommit=False)) as connection:
            self.settle(connection)
            while not self.load.stopping.is_set():
                self.transaction(connection)
                self.load.stopping.wait(self.random.random() * self.load.pause)

    def settle(self, connection):
        """After a lost connection the last COMMIT is unknown; the table knows."""
        with connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT aggregate_id, max((payload->>'seq')::bigint) FROM {self.load.table} "
                           "WHERE aggregate_id = ANY(%s) GROUP BY 1", (self.keys,))
            self.counters.update(dict.fromkeys(self.keys, 0))
            self.counters.update(cursor.fetchall())

    def plan(self):
        """[(undone?, number of rows)] of one transaction."""
        size = self.random.choice([1, 1, 2, 3, 5, 8, self.random.randint(1, ROWS_MAX)])
        segments = []
        while size > 0:
            part = self.random.randint(1, size)
            segments.append((False, part))
            if self.random.random() < SAVEPOINT_SHARE:
                segments.append((True, self.random.randint(1, 3)))
            size -= part
        return segments

    def transaction(self, connection):
        self.txno += 1
        rolled_back = self.random.random() < ROLLBACK_SHARE
        counters, ids, position = dict(self.counters), [], 0
        with connection.cursor() as cursor:
            for undone, size in self.plan():
                if undone:
                    cursor.execute("SAVEPOINT undone")
                    self.insert(cursor, [self.row(dict(counters), 0, doomed=True) for _ in range(size)])
                    cursor.execute("ROLLBACK TO SAVEPOINT undone")
                    continue
                rows = [self.row(counters, position + n, doomed=rolled_back) for n in range(size)]
                self.insert(cursor, rows)
                position += size
                ids += [row[0] for row in rows]
            if rolled_back:
                connection.rollback()
                return
            connection.commit()
        self.counters = counters
        self.load.count(ids)

    def row(self, counters, position, doomed):
        key = self.random.choices(self.keys, self.weights)[0]
        counters[key] += 1
        pad = "" if self.random.random() < 0.3 else "é" + "x" * self.random.randint(0, 600)
        payload = {"writer": self.number, "txno": self.txno, "seq": counters[key], "pos": position, "pad": pad}
        return (str(uuid.UUID(int=self.random.getrandbits(128), version=4)), self.load.aggregate_type, key,
                "doomed" if doomed else "happened", json.dumps(payload))

    def insert(self, cursor, rows):
        """Some as one statement per row, some as one statement for all."""
        page = 1 if self.random.random() < 0.3 else ROWS_MAX
        psycopg2.extras.execute_values(cursor, INSERT.format(table=self.load.table), rows, page_size=page)
