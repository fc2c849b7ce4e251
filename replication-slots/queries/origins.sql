-- Replication origins that no subscription uses.
SELECT o.roname FROM pg_replication_origin o
WHERE NOT EXISTS (SELECT FROM pg_stat_subscription s WHERE 'pg_' || s.subid = o.roname)
ORDER BY 1
