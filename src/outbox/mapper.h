// Turns inserted rows of outbox tables into events.
//
// Columns are recognised by name (README.md has the table), once per description of a table. What a
// row can't say by columns, a JSON payload of the wrapped form may (wrapped_payload.h).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capture/batch.h"
#include "outbox/event.h"
#include "outbox/mapping_plan.h"

namespace walpost::outbox {

// Thread: loop only. In steady state Map() allocates nothing.
class Mapper {
 public:
  // Options that CheckMappingOptions() refuses make every Map() return that error.
  explicit Mapper(MappingOptions options);
  Mapper(const Mapper&) = delete;
  Mapper& operator=(const Mapper&) = delete;

  // The event views the row's batch and this mapper: valid until the next Map() and while the batch
  // is.
  //
  // Errors:
  //   kInvalidArgument     this row can't be an event: names table, event id where known, and
  //   column. kFailedPrecondition  no row of this table can (see MakeMappingPlan()).
  absl::StatusOr<Event> Map(const capture::Row& row);

  // Of the row last given to Map(), also if it failed; "" if it couldn't be read. Valid as the
  // event is.
  std::string_view event_id() const { return event_id_; }
  // "schema.table" of the row last mapped; valid until the next Map().
  std::string_view relation_name() const {
    return last_ ? last_->relation_name : std::string_view();
  }

 private:
  using OptionalText = std::optional<std::string_view>;

  absl::StatusOr<const MappingPlan*> PlanOf(
      const std::shared_ptr<const capture::Relation>& relation);
  absl::Status Fill(const capture::Row& row, const MappingPlan& plan, Event& event);
  absl::Status FillPayload(const capture::Row& row, const MappingPlan& plan, Event& event);
  absl::Status FillTrace(const capture::Row& row, const MappingPlan& plan, Event& event);
  absl::Status FillHeaders(const capture::Row& row, const MappingPlan& plan, Event& event);
  absl::Status FillOccurredAt(const capture::Row& row, const MappingPlan& plan, Event& event);
  absl::Status FillVersions(const capture::Row& row, const MappingPlan& plan, Event& event);
  void FillFromWrapped(std::string_view payload, bool known_json, Event& event);

  // Sets `text` to the field's text, or to none where the column is null or there is none.
  absl::Status ReadText(const capture::Row& row, const MappingPlan& plan, Field field,
                        OptionalText& text);
  // Sets `text`; a row without it can't be published.
  absl::Status ReadRequired(const capture::Row& row, const MappingPlan& plan, Field field,
                            std::string_view& text);
  // Sets `text`, to "" for none.
  absl::Status ReadOptional(const capture::Row& row, const MappingPlan& plan, Field field,
                            std::string_view& text);
  std::string& Scratch(Field field) { return scratch_[static_cast<std::size_t>(field)]; }

  const MappingOptions options_;
  const absl::Status options_status_;

  std::unordered_map<const capture::Relation*, std::unique_ptr<MappingPlan>> plans_;
  const MappingPlan* last_ = nullptr;  // of plans_

  // What the event last mapped views, beside the row itself.
  std::string_view event_id_;
  std::array<std::string, kFieldCount> scratch_;
  std::string unescaped_traceparent_;
  std::vector<MessageHeader> headers_;
};

}  // namespace walpost::outbox
