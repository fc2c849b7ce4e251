// What the server has said about tables and types in this session.
//
// Lives as long as one connection: the server repeats everything needed after a reconnect.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "capture/batch.h"
#include "capture/wal/pgoutput/messages.h"

namespace walpost::capture::pgoutput {

// Thread: loop only.
class RelationCache {
 public:
  void Learn(const Type& type);

  // Replaces what was known of that table. An identical repeat (ANALYZE and the like cause them)
  // keeps the object, so that whoever mapped it need not map it again.
  void Learn(const RelationDescription& description);

  // Null if the server has not described it. Valid until the next Learn().
  const std::shared_ptr<const Relation>* Find(RelationOid oid) const;

 private:
  struct TypeName {
    std::string schema;
    std::string name;
  };
  absl::flat_hash_map<std::uint32_t, TypeName> types_;
  absl::flat_hash_map<std::uint32_t, std::shared_ptr<const Relation>> relations_;
};

}  // namespace walpost::capture::pgoutput
