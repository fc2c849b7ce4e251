-- The walsender that holds the slot.
SELECT sent_lsn, flush_lsn, extract(epoch FROM now() - reply_time) AS reply_age_seconds
FROM pg_stat_replication WHERE pid = @pid
