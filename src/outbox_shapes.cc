#include "outbox_shapes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/sql_quote.h"
#include "base/string_view.h"

namespace walpost {
namespace {

constexpr OutboxShape kShapes[] = {
    {'A', "serial id, uuid aggregate, jsonb payload, bookkeeping of a poller", false,
     R"(    id bigserial PRIMARY KEY,
    aggregate_type text NOT NULL,
    aggregate_id uuid NOT NULL,
    event_type text NOT NULL,
    payload jsonb NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT now(),
    published_at timestamptz,
    retry_count integer NOT NULL DEFAULT 0,
    last_error text,
    next_retry_at timestamptz
)",
     "(id) WHERE published_at IS NULL", ""},
    {'B', "uuid event_id, aggregate and schema version, text payload, status of a claiming poller",
     false,
     R"(    event_id uuid PRIMARY KEY,
    event_type varchar(100) NOT NULL,
    schema_version integer,
    aggregate_type varchar(50) NOT NULL,
    aggregate_id bigint NOT NULL,
    aggregate_version bigint NOT NULL,
    payload text NOT NULL,
    status varchar(20) NOT NULL DEFAULT 'PENDING',
    retry_count integer NOT NULL DEFAULT 0,
    last_error text,
    occurred_at timestamptz NOT NULL,
    locked_at timestamptz,
    published_at timestamptz
)",
     "", ""},
    {'C',
     "enum event_type, one aggregate type implied by the table (set source.columns.aggregate_id)",
     false,
     R"(    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_type @kind NOT NULL,
    message_id bigint NOT NULL,
    payload text NOT NULL,
    processed boolean NOT NULL DEFAULT false,
    retry_count integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
)",
     "", "'CREATED', 'UPDATED', 'DELETED'"},
    {'D', "uuid id that consumers use against duplicates, textual aggregate id, jsonb payload",
     false,
     R"(    id uuid PRIMARY KEY,
    aggregate_type varchar(64) NOT NULL,
    aggregate_id varchar(64) NOT NULL,
    event_type varchar(64) NOT NULL,
    payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    published_at timestamptz
)",
     "(created_at) WHERE published_at IS NULL", ""},
    {'E', "the table of Debezium's outbox event router", false,
     R"(    id uuid PRIMARY KEY,
    aggregatetype varchar(255) NOT NULL,
    aggregateid varchar(255) NOT NULL,
    type varchar(255) NOT NULL,
    payload jsonb
)",
     "", ""},
    {'F', "binary payload, headers, trace context, schema version", false,
     R"(    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    aggregate_type text NOT NULL,
    aggregate_id text NOT NULL,
    event_type text NOT NULL,
    schema_version integer NOT NULL DEFAULT 1,
    content_type text NOT NULL DEFAULT 'application/x-protobuf',
    payload bytea NOT NULL,
    headers jsonb NOT NULL DEFAULT '{}',
    traceparent text,
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp()
)",
     "", ""},
    {'G', "partitioned by occurred_at, so that old events leave by DROP TABLE", true,
     R"(    id uuid NOT NULL DEFAULT gen_random_uuid(),
    aggregate_type text NOT NULL,
    aggregate_id text NOT NULL,
    event_type text NOT NULL,
    payload jsonb NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, occurred_at)
)",
     "", ""},
};

// A name beside the table's own. Postgres keeps 63 bytes of a name, the suffix among them.
std::string Beside(const capture::TableName& table, std::string_view suffix) {
  constexpr std::size_t kNameBytes = 63;
  std::string_view stem = std::string_view(table.name).substr(0, kNameBytes - suffix.size());
  // Not through the middle of a UTF-8 sequence.
  while (stem.size() < table.name.size() && !stem.empty() &&
         (static_cast<unsigned char>(table.name[stem.size()]) & 0xC0U) == 0x80U) {
    stem.remove_suffix(1);
  }
  return QuoteTable(table.schema, absl::StrCat(ToAbsl(stem), ToAbsl(suffix)));
}

}  // namespace

std::span<const OutboxShape> OutboxShapes() { return kShapes; }

const OutboxShape* FindOutboxShape(std::string_view letter) {
  for (const OutboxShape& shape : kShapes) {
    if (letter.size() == 1 && letter.front() == shape.letter) return &shape;
  }
  return nullptr;
}

std::string CreateTableSql(const OutboxShape& shape, const capture::TableName& table) {
  const std::string name = QuoteTable(table.schema, table.name);
  const std::string kind = Beside(table, "_kind");
  std::string sql;
  if (!shape.kind.empty()) {
    absl::StrAppend(&sql, "CREATE TYPE ", kind, " AS ENUM (", ToAbsl(shape.kind), ");\n");
  }
  absl::StrAppend(&sql, "CREATE TABLE ", name, " (\n",
                  absl::StrReplaceAll(ToAbsl(shape.body), {{"@kind", kind}}), ")");
  if (shape.partitioned) {
    absl::StrAppend(&sql, " PARTITION BY RANGE (occurred_at);\nCREATE TABLE ",
                    Beside(table, "_default"), " PARTITION OF ", name, " DEFAULT");
  }
  sql += ";\n";
  // Postgres chooses a free name for the index.
  if (!shape.index.empty()) {
    absl::StrAppend(&sql, "CREATE INDEX ON ", name, " ", ToAbsl(shape.index), ";\n");
  }
  return sql;
}

std::vector<std::string> ColumnsOf(const OutboxShape& shape) {
  std::vector<std::string> columns;
  std::string_view rest = shape.body;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    const std::string_view word = line.substr(0, line.find(' '));
    if (!word.empty() && word != "PRIMARY") columns.emplace_back(word);
  }
  return columns;
}

}  // namespace walpost
