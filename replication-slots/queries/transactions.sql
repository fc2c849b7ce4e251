-- The oldest transactions that have written something: restart_lsn can't pass where they began.
SELECT a.pid, a.usename, a.application_name, a.state, a.datname,
       extract(epoch FROM now() - a.xact_start)::int8 AS age_seconds
FROM pg_stat_activity a
WHERE a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
ORDER BY a.xact_start LIMIT 5
