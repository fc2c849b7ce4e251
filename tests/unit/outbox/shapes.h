// One row of each outbox shape that real teams use, as Postgres 15 printed its values (output
// functions, time zone UTC) and sent them (send functions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unit/outbox/support.h"

namespace walpost::outbox {

struct GoldenValue {
  std::string_view column;
  std::uint32_t type_oid;
  std::string_view type_schema;
  std::string_view type_name;
  std::optional<std::string_view> text;  // none: null
  std::string_view binary;               // in hexadecimal
};

struct GoldenRow {
  std::string_view schema;
  std::string_view table;
  std::vector<GoldenValue> values;
};

enum class Form { kText, kBinary };

inline TestRow RowOf(const GoldenRow& golden, Form form) {
  TestRow row{std::string(golden.schema), std::string(golden.table)};
  for (const GoldenValue& value : golden.values) {
    capture::Column column = ColumnOf(std::string(value.column), value.type_oid,
                                      std::string(value.type_schema), std::string(value.type_name));
    if (!value.text) {
      row.Null(std::move(column));
    } else if (form == Form::kText) {
      row.Text(std::move(column), std::string(*value.text));
    } else {
      row.Binary(std::move(column), FromHex(value.binary));
    }
  }
  return row;
}

// clang-format off
// Serial id, uuid aggregate, wrapped jsonb payload.
inline GoldenRow ShapeA() {
  return {"events", "outbox", {
    {"id", 20, "", "", R"(1)", "0000000000000001"},
    {"aggregate_type", 25, "", "", R"(order)", "6f72646572"},
    {"aggregate_id", 2950, "", "", R"(a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11)", "a0eebc999c0b4ef8bb6d6bb9bd380a11"},
    {"event_type", 25, "", "", R"(OrderPlaced)", "4f72646572506c61636564"},
    {"payload", 3802, "", "", R"({"data": {"total": "12.50"}, "version": 2, "metadata": {"causation_id": "c-1", "correlation_id": "r-1"}})", "017b2264617461223a207b22746f74616c223a202231322e3530227d2c202276657273696f6e223a20322c20226d65746164617461223a207b22636175736174696f6e5f6964223a2022632d31222c2022636f7272656c6174696f6e5f6964223a2022722d31227d7d"},
    {"occurred_at", 1184, "", "", R"(2026-03-01 10:34:56.123456+00)", "0002eef2ca403640"},
    {"published_at", 1184, "", "", std::nullopt, ""},
    {"retry_count", 23, "", "", R"(0)", "00000000"},
    {"last_error", 25, "", "", std::nullopt, ""},
    {"next_retry_at", 1184, "", "", std::nullopt, ""},
  }};
}

// event_id beside its own state columns, both versions, JSON as text.
inline GoldenRow ShapeB() {
  return {"public", "outbox_events", {
    {"event_id", 2950, "", "", R"(11111111-2222-3333-4444-555555555555)", "11111111222233334444555555555555"},
    {"event_type", 1043, "", "", R"(InvoicePaid)", "496e766f69636550616964"},
    {"schema_version", 23, "", "", R"(3)", "00000003"},
    {"aggregate_type", 1043, "", "", R"(invoice)", "696e766f696365"},
    {"aggregate_id", 20, "", "", R"(42)", "000000000000002a"},
    {"aggregate_version", 20, "", "", R"(7)", "0000000000000007"},
    {"payload", 25, "", "", R"({"paid": true})", "7b2270616964223a20747275657d"},
    {"status", 1043, "", "", R"(PENDING)", "50454e44494e47"},
    {"retry_count", 23, "", "", R"(0)", "00000000"},
    {"last_error", 25, "", "", std::nullopt, ""},
    {"occurred_at", 1184, "", "", R"(2026-03-01 10:34:56+00)", "0002eef2ca3e5400"},
    {"locked_at", 1184, "", "", std::nullopt, ""},
    {"published_at", 1184, "", "", std::nullopt, ""},
  }};
}

// An enum as event type, no aggregate type, an aggregate id by another name.
inline GoldenRow ShapeC() {
  return {"public", "outbox_event", {
    {"id", 20, "", "", R"(1)", "0000000000000001"},
    {"event_type", kEnumOid, "public", "outbox_event_kind", R"(CREATED)", "43524541544544"},
    {"message_id", 20, "", "", R"(77)", "000000000000004d"},
    {"payload", 25, "", "", R"(plain words)", "706c61696e20776f726473"},
    {"processed", 16, "", "", R"(f)", "00"},
    {"retry_count", 23, "", "", R"(0)", "00000000"},
    {"created_at", 1184, "", "", R"(2026-03-01 00:00:00.5+00)", "0002eee9eb932120"},
  }};
}

// A uuid id and a textual aggregate id.
inline GoldenRow ShapeD() {
  return {"public", "outbox", {
    {"id", 2950, "", "", R"(99999999-8888-7777-6666-555555555555)", "99999999888877776666555555555555"},
    {"aggregate_type", 1043, "", "", R"(customer)", "637573746f6d6572"},
    {"aggregate_id", 1043, "", "", R"(kund-ä)", "6b756e642dc3a4"},
    {"event_type", 1043, "", "", R"(CustomerMoved)", "437573746f6d65724d6f766564"},
    {"payload", 3802, "", "", R"({"a": "ä", "b": 1.50})", "017b2261223a2022c3a4222c202262223a20312e35307d"},
    {"created_at", 1184, "", "", R"(2026-03-01 10:34:56.123+00)", "0002eef2ca403478"},
    {"published_at", 1184, "", "", std::nullopt, ""},
  }};
}

// Debezium's outbox event router; payload null.
inline GoldenRow ShapeE() {
  return {"public", "outboxevent", {
    {"id", 2950, "", "", R"(99999999-8888-7777-6666-000000000001)", "99999999888877776666000000000001"},
    {"aggregatetype", 1043, "", "", R"(shipment)", "736869706d656e74"},
    {"aggregateid", 1043, "", "", R"(s-1)", "732d31"},
    {"type", 1043, "", "", R"(ShipmentSent)", "536869706d656e7453656e74"},
    {"payload", 3802, "", "", std::nullopt, ""},
  }};
}

// Protobuf in bytea, headers, trace context.
inline GoldenRow ShapeF() {
  return {"public", "outbox_binary", {
    {"id", 2950, "", "", R"(99999999-8888-7777-6666-000000000002)", "99999999888877776666000000000002"},
    {"aggregate_type", 25, "", "", R"(order)", "6f72646572"},
    {"aggregate_id", 25, "", "", R"(o-1)", "6f2d31"},
    {"event_type", 25, "", "", R"(OrderPlaced)", "4f72646572506c61636564"},
    {"schema_version", 23, "", "", R"(4)", "00000004"},
    {"content_type", 25, "", "", R"(application/x-protobuf)", "6170706c69636174696f6e2f782d70726f746f627566"},
    {"payload", 17, "", "", R"(\x0a00ff)", "0a00ff"},
    {"headers", 3802, "", "", R"({"x-n": 12.50, "skip": null, "x-nested": {"a": [1]}, "x-tenant": "t1"})", "017b22782d6e223a2031322e35302c2022736b6970223a206e756c6c2c2022782d6e6573746564223a207b2261223a205b315d7d2c2022782d74656e616e74223a20227431227d"},
    {"traceparent", 25, "", "", R"(00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01)", "30302d30616637363531393136636434336464383434386562323131633830333139632d623761643662373136393230333333312d3031"},
    {"occurred_at", 1184, "", "", R"(2026-03-01 10:34:56+00)", "0002eef2ca3e5400"},
  }};
}

// Partitioned.
inline GoldenRow ShapeG() {
  return {"public", "outbox_partitioned", {
    {"id", 2950, "", "", R"(99999999-8888-7777-6666-000000000003)", "99999999888877776666000000000003"},
    {"aggregate_type", 25, "", "", R"(order)", "6f72646572"},
    {"aggregate_id", 25, "", "", R"(o-2)", "6f2d32"},
    {"event_type", 25, "", "", R"(OrderPlaced)", "4f72646572506c61636564"},
    {"payload", 3802, "", "", R"([1, 2])", "015b312c20325d"},
    {"occurred_at", 1184, "", "", R"(2026-03-01 10:34:56+00)", "0002eef2ca3e5400"},
  }};
}

// clang-format on

}  // namespace walpost::outbox
