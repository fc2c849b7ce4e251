-- What all commands want to know of the server and of what this role may see.
SELECT current_database() AS database, current_user AS role, pg_is_in_recovery() AS in_recovery,
       CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_wal_replay_lsn(), pg_last_wal_receive_lsn())
            ELSE pg_current_wal_lsn() END AS wal_end,
       pg_has_role('pg_read_all_stats', 'USAGE') AS sees_activity,
       (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user) AS may_replicate,
       extract(epoch FROM clock_timestamp()) AS now
