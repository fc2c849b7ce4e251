-- One row per slot. Columns that a version lacks come as NULL through jsonb; the activity of other
-- roles is NULL without pg_read_all_stats (pg_monitor has it).
SELECT s.slot_name, s.plugin, s.slot_type, s.database, s.temporary, s.active, s.active_pid,
       j ->> 'two_phase' AS two_phase, j ->> 'failover' AS failover, (j ->> 'synced')::boolean AND pg_is_in_recovery() AS synced,
       coalesce(j ->> 'invalidation_reason', CASE WHEN (j ->> 'conflicting')::boolean THEN 'conflict' END) AS invalidation_reason,
       s.wal_status, s.safe_wal_size, s.restart_lsn, s.confirmed_flush_lsn,
       pg_wal_lsn_diff(w.wal_end, s.restart_lsn)::int8 AS retained_bytes,
       pg_wal_lsn_diff(w.wal_end, s.confirmed_flush_lsn)::int8 AS unconfirmed_bytes,
       age(s.catalog_xmin) AS catalog_xmin_age,
       extract(epoch FROM now() - (j ->> 'inactive_since')::timestamptz) AS inactive_seconds,
       to_char((j ->> 'inactive_since')::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS inactive_since,
       a.application_name, host(a.client_addr) AS client_addr,
       to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS active_since,
       st.spill_bytes, st.stream_bytes
FROM pg_replication_slots s
CROSS JOIN LATERAL to_jsonb(s) AS j
CROSS JOIN (SELECT CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_wal_replay_lsn(), pg_last_wal_receive_lsn())
                        ELSE pg_current_wal_lsn() END AS wal_end) AS w
LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid
LEFT JOIN pg_stat_replication_slots st ON st.slot_name = s.slot_name
ORDER BY s.slot_name
