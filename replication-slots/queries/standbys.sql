-- Standbys that stream physically, and their slots.
SELECT r.pid, r.application_name, host(r.client_addr) AS client_addr, r.state, s.slot_name,
       pg_wal_lsn_diff(pg_current_wal_lsn(), r.replay_lsn)::int8 AS behind_bytes
FROM pg_stat_replication r
LEFT JOIN pg_replication_slots s ON s.active_pid = r.pid
WHERE s.slot_type IS DISTINCT FROM 'logical'
ORDER BY 2
