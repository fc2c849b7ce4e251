#include "capture/wal/pgoutput/relation_cache.h"

#include <utility>

namespace walpost::capture::pgoutput {

void RelationCache::Learn(const Type& type) {
  types_[type.oid] = {std::string(type.schema), std::string(type.name)};
}

void RelationCache::Learn(const RelationDescription& description) {
  Relation relation;
  relation.oid = description.oid;
  relation.schema = description.schema.empty() ? "pg_catalog" : std::string(description.schema);
  relation.name = std::string(description.name);
  for (const RelationColumn& described : description.columns) {
    Column column;
    column.name = std::string(described.name);
    column.type_oid = described.type_oid;
    column.type_modifier = described.type_modifier;
    if (const auto type = types_.find(described.type_oid); type != types_.end()) {
      column.type_schema = type->second.schema;
      column.type_name = type->second.name;
    }
    relation.columns.push_back(std::move(column));
  }
  std::shared_ptr<const Relation>& known = relations_[description.oid.value];
  if (known != nullptr && *known == relation) return;
  known = std::make_shared<const Relation>(std::move(relation));
}

const std::shared_ptr<const Relation>* RelationCache::Find(RelationOid oid) const {
  const auto found = relations_.find(oid.value);
  return found == relations_.end() ? nullptr : &found->second;
}

}  // namespace walpost::capture::pgoutput
