-- A role that can run the relay and no more than that. REPLICATION reads the whole cluster all the same
-- (every table's changes, base backups): treat its password like a backup operator's, and let
-- pg_hba.conf admit it from the relay's host alone:
--   hostssl app walpost <relay>/32 scram-sha-256
--   host    replication walpost all reject
CREATE ROLE walpost LOGIN REPLICATION CONNECTION LIMIT 4;
ALTER ROLE walpost SET default_transaction_read_only = on;
