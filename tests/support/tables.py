"""The plainest outbox table: an id is enough for a row."""

PLAIN_COLUMNS = """(id text PRIMARY KEY, aggregate_type text NOT NULL DEFAULT 'order', aggregate_id text NOT NULL DEFAULT 'k',
    event_type text NOT NULL DEFAULT 'Placed', payload jsonb)"""
PLAIN_TABLE = f"CREATE TABLE outbox {PLAIN_COLUMNS}"


def insert(database, *ids):
    """Each in a transaction of its own."""
    for event_id in ids:
        database.run("INSERT INTO outbox (id) VALUES (%s)", (event_id,))
