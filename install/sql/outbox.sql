-- An outbox table, the publication and the slot of a relay, as `walpost setup --create-table D` makes
-- them. The order matters: the publication has to be older than the slot.
CREATE TABLE outbox (
    id             uuid PRIMARY KEY,
    aggregate_type varchar(64) NOT NULL,
    aggregate_id   varchar(64) NOT NULL,
    event_type     varchar(64) NOT NULL,
    payload        jsonb NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE PUBLICATION walpost FOR TABLE outbox WITH (publish = 'insert');
SELECT pg_create_logical_replication_slot('walpost', 'pgoutput');
