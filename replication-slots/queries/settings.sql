SELECT name, setting, unit FROM pg_settings WHERE name IN (
  'wal_level', 'max_replication_slots', 'max_wal_senders', 'max_slot_wal_keep_size', 'wal_keep_size', 'wal_sender_timeout',
  'idle_replication_slot_timeout', 'logical_decoding_work_mem', 'max_wal_size', 'sync_replication_slots',
  'hot_standby_feedback', 'primary_conninfo', 'primary_slot_name', 'synchronized_standby_slots', 'server_version',
  'wal_segment_size')
