-- Origins named as those of subscriptions (pg_SUBID, pg_SUBID_RELID) that no subscription has.
SELECT o.roname FROM pg_replication_origin o
WHERE o.roname ~ '^pg_[0-9]+(_[0-9]+)?$'
  AND NOT EXISTS (SELECT FROM pg_stat_subscription s WHERE s.subid::text = split_part(o.roname, '_', 2))
ORDER BY 1
