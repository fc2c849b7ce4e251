#include "sink/sink_table.h"

#include <algorithm>
#include <iterator>

#include "sink/file/file_sink.h"
#include "sink/kafka/kafka_sink_type.h"
#include "sink/null/null_sink.h"

namespace walpost::sink {

std::span<const SinkType> SinkTypes() {
  static const SinkType types[] = {
      FileSinkType(),
      KafkaSinkType(),
      NullSinkType(),
  };
  return types;
}

const SinkType* FindSinkType(std::string_view name) {
  const auto types = SinkTypes();
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const SinkType& t) { return t.name == name; });
  return found == types.end() ? nullptr : &*found;
}

}  // namespace walpost::sink
