-- Prepared transactions hold restart_lsn until somebody ends them.
SELECT gid, database, owner, extract(epoch FROM now() - prepared)::int8 AS age_seconds
FROM pg_prepared_xacts ORDER BY prepared LIMIT 5
