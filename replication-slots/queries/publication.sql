-- One row per table of the publication @name, or of each publication where @name is '', without
-- locking any of them; row filters and column lists came with version 15.
SELECT p.pubname, concat_ws(', ', 'insert', CASE WHEN p.pubupdate THEN 'update' END, CASE WHEN p.pubdelete THEN 'delete' END,
                            CASE WHEN p.pubtruncate THEN 'truncate' END) AS with_insert, p.pubinsert, p.pubviaroot, p.puballtables, n.nspname AS schema_name, c.relname AS table_name,
       to_jsonb(r) ->> 'prqual' IS NOT NULL OR to_jsonb(r) ->> 'prattrs' IS NOT NULL AS filtered,
       c.relkind = 'p' AND NOT p.pubviaroot AS published_as_leaves, c.relpersistence <> 'p' AS unlogged
FROM pg_publication p
LEFT JOIN (pg_publication_rel r JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace)
  ON r.prpubid = p.oid
WHERE @name = '' OR p.pubname = @name
ORDER BY p.pubname, n.nspname, c.relname
