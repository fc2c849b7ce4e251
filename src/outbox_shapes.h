// The outbox tables that `walpost setup --create-table` knows, by letter. Any other table works as
// well: columns are recognised by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/wal/transaction_assembler.h"

namespace walpost {

struct OutboxShape {
  char letter;
  std::string_view about;    // one line for --help
  bool partitioned = false;  // by occurred_at, with a default partition to begin with
  std::string_view body;     // of CREATE TABLE, a column a line; @kind stands for the enum's name
  std::string_view index;    // its columns and condition, or ""
  std::string_view kind;     // the labels of an enum made for event_type, or ""
};

std::span<const OutboxShape> OutboxShapes();
const OutboxShape* FindOutboxShape(std::string_view letter);  // null if there is none

// Statements that make the table (and its type, partition and index), each ending in ";\n". They
// are run together, so that all or nothing is made. The schema must exist.
std::string CreateTableSql(const OutboxShape& shape, const capture::TableName& table);

// The names of the shape's columns, in order.
std::vector<std::string> ColumnsOf(const OutboxShape& shape);

}  // namespace walpost
