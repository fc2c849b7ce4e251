#include "capture/wal/catalog.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"

namespace walpost::capture {
namespace {

// One row per table asked for, or one without a table. to_jsonb() makes a column that this version
// lacks a NULL, not an error. pg_publication_tables would be shorter, but it locks each table, and
// waits behind a migration.
constexpr std::string_view kSql = R"(
SELECT current_database() AS server_database,
       current_setting('wal_level') AS wal_level,
       current_setting('server_encoding') AS server_encoding,
       pg_is_in_recovery() AS in_recovery,
       CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS wal_end,
       s.slot_name IS NOT NULL AS slot_exists, s.plugin, s.slot_type, s.database AS slot_database,
       s.active, s.active_pid, holder.application_name AS holder,
       s.restart_lsn, s.confirmed_flush_lsn, s.wal_status, s.safe_wal_size,
       to_jsonb(s) ->> 'two_phase' AS two_phase,
       to_jsonb(s) ->> 'synced' AS synced,
       to_jsonb(s) ->> 'invalidation_reason' AS invalidation_reason,
       p.oid IS NOT NULL AS publication_exists, p.pubinsert, p.pubupdate OR p.pubdelete AS publishes_more,
       wanted.schema_name, wanted.table_name, t.oid IS NOT NULL AS table_exists,
       member.published, member.filtered,
       t.relkind = 'p' AND NOT p.pubviaroot AS published_as_leaves,
       t.relispartition AND p.pubviaroot AND (member.by_ancestor OR p.puballtables) AS published_as_root,
       t.relpersistence <> 'p' AS unlogged
FROM (VALUES @tables) AS wanted (schema_name, table_name)
LEFT JOIN pg_replication_slots s ON s.slot_name = @slot
LEFT JOIN pg_stat_activity holder ON holder.pid = s.active_pid
LEFT JOIN pg_publication p ON p.pubname = @publication
LEFT JOIN (pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace)
  ON n.nspname = wanted.schema_name AND t.relname = wanted.table_name AND t.relkind IN ('r', 'p')
LEFT JOIN LATERAL (
  SELECT coalesce(bool_or(true), false) OR p.puballtables AS published,
         coalesce(bool_or(pr.filtered), false) AS filtered,
         coalesce(bool_or(family.relid <> t.oid), false) AS by_ancestor
  FROM (SELECT t.oid AS relid UNION SELECT relid FROM pg_partition_ancestors(t.oid)) AS family
  JOIN LATERAL (
    SELECT to_jsonb(r) ->> 'prqual' IS NOT NULL OR to_jsonb(r) ->> 'prattrs' IS NOT NULL AS filtered
    FROM pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = family.relid
    @schemas) AS pr ON true) AS member ON true)";

// Publications of whole schemas came with version 15.
constexpr std::string_view kSchemasSql = R"(
    UNION ALL
    SELECT false FROM pg_publication_namespace pn JOIN pg_class c ON c.relnamespace = pn.pnnspid
    WHERE pn.pnpubid = p.oid AND c.oid = family.relid)";

std::optional<Lsn> LsnOf(const PgRows& rows, const char* column) {
  const auto text = rows.Get(0, column);
  return text ? ParseLsn(*text) : std::nullopt;
}

SlotFacts ReadSlot(const PgRows& rows, const std::string& name) {
  SlotFacts slot;
  slot.name = name;
  slot.exists = rows.IsTrue(0, "slot_exists");
  slot.plugin = rows.Text(0, "plugin");
  slot.type = rows.Text(0, "slot_type");
  slot.database = rows.Text(0, "slot_database");
  slot.active = rows.IsTrue(0, "active");
  if (!absl::SimpleAtoi(rows.Text(0, "active_pid"), &slot.active_pid)) slot.active_pid = 0;
  slot.holder = rows.Text(0, "holder");
  slot.two_phase = rows.Get(0, "two_phase") == "true";
  slot.synced = rows.Get(0, "synced") == "true";
  slot.wal_status = rows.Text(0, "wal_status");
  slot.invalidation_reason = rows.Text(0, "invalidation_reason");
  slot.restart_lsn = LsnOf(rows, "restart_lsn");
  slot.confirmed_flush_lsn = LsnOf(rows, "confirmed_flush_lsn");
  std::int64_t safe = 0;
  if (absl::SimpleAtoi(rows.Text(0, "safe_wal_size"), &safe)) slot.safe_wal_size = safe;
  return slot;
}

}  // namespace

std::string CatalogSql(const PgSession& session, const CatalogQuestion& question) {
  std::string tables;
  for (const TableName& table : question.tables) {
    absl::StrAppend(&tables, tables.empty() ? "" : ", ", "(", session.QuoteLiteral(table.schema),
                    "::text, ", session.QuoteLiteral(table.name), "::text)");
  }
  if (tables.empty()) tables = "(NULL::text, NULL::text)";
  // One pass, so that a name can't stand for another placeholder.
  return absl::StrReplaceAll(
      ToAbsl(kSql), {{"@tables", tables},
                     {"@schemas", session.server_version() >= 150000 ? ToAbsl(kSchemasSql) : ""},
                     {"@slot", session.QuoteLiteral(question.slot)},
                     {"@publication", session.QuoteLiteral(question.publication)}});
}

absl::StatusOr<CatalogFacts> ReadCatalog(const PgRows& rows, const CatalogQuestion& question,
                                         int server_version) {
  if (rows.size() == 0) {
    return Error(absl::StatusCode::kInternal, "the catalogue query gave no row");
  }
  CatalogFacts facts;
  facts.server = {server_version, rows.Text(0, "server_database"), rows.Text(0, "wal_level"),
                  rows.Text(0, "server_encoding"), LsnOf(rows, "wal_end").value_or(Lsn())};
  facts.server.in_recovery = rows.IsTrue(0, "in_recovery");
  facts.slot = ReadSlot(rows, question.slot);
  facts.publication.name = question.publication;
  facts.publication.exists = rows.IsTrue(0, "publication_exists");
  facts.publication.publishes_insert = rows.IsTrue(0, "pubinsert");
  facts.publication.publishes_more = rows.IsTrue(0, "publishes_more");
  for (int row = 0; row < rows.size(); ++row) {
    TableName table{rows.Text(row, "schema_name"), rows.Text(row, "table_name")};
    if (table.name.empty()) continue;
    if (!rows.IsTrue(row, "table_exists")) {
      facts.publication.unknown_tables.push_back(std::move(table));
    } else if (rows.IsTrue(row, "unlogged")) {
      facts.publication.unlogged_tables.push_back(std::move(table));
    } else if (!rows.IsTrue(row, "published")) {
      facts.publication.missing_tables.push_back(std::move(table));
    } else if (rows.IsTrue(row, "published_as_leaves") || rows.IsTrue(row, "published_as_root")) {
      facts.publication.renamed_tables.push_back(std::move(table));
    } else if (rows.IsTrue(row, "filtered")) {
      facts.publication.filtered_tables.push_back(std::move(table));
    }
  }
  return facts;
}

}  // namespace walpost::capture
