#include "config.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "admin_endpoint.h"
#include "base/check.h"
#include "base/pq.h"
#include "base/status.h"
#include "sink/sink_table.h"

namespace walpost {
namespace {

constexpr std::int64_t kMostInflightMessages = 1'000'000;

// Enumerations by their names in the file; the order is that of the choices below.
template <typename T>
struct Named {
  std::string_view name;
  T value;
};
constexpr Named<outbox::NullKey> kNullKeys[] = {{"warn", outbox::NullKey::kWarn},
                                                {"reject", outbox::NullKey::kReject}};
constexpr Named<outbox::KeyEncoding> kKeyEncodings[] = {{"text", outbox::KeyEncoding::kText},
                                                        {"json", outbox::KeyEncoding::kJson},
                                                        {"binary", outbox::KeyEncoding::kBinary}};
constexpr Named<outbox::RecordTime> kTimestamps[] = {
    {"commit", outbox::RecordTime::kCommit}, {"occurred_at", outbox::RecordTime::kOccurredAt}};
constexpr Named<outbox::ValueFormat> kFormats[] = {
    {"envelope", outbox::ValueFormat::kEnvelope},
    {"envelope_json", outbox::ValueFormat::kEnvelopeJson},
    {"payload", outbox::ValueFormat::kPayload}};

template <typename T, std::size_t kCount>
std::vector<std::string_view> NamesOf(const Named<T> (&table)[kCount]) {
  std::vector<std::string_view> names;
  for (const Named<T>& entry : table) names.push_back(entry.name);
  return names;
}

// Settings let only the names through.
template <typename T, std::size_t kCount>
T ValueOf(const Named<T> (&table)[kCount], const Settings& settings, std::string_view key) {
  const std::string name = settings.GetString(key);
  for (const Named<T>& entry : table) {
    if (entry.name == name) return entry.value;
  }
  WALPOST_CHECK(false);
  return table[0].value;
}

std::vector<std::string_view> SinkNames() {
  std::vector<std::string_view> names;
  for (const sink::SinkType& type : sink::SinkTypes()) names.push_back(type.name);
  return names;
}

std::vector<KeySpec> CoreKeys() {
  return {
      {"source.dsn",
       KeyType::kString,
       "",
       "connection string or URI of the database; PG* variables and pg_service.conf apply",
       {},
       true},
      {"source.slot", KeyType::kString, "walpost",
       "logical replication slot, of the plugin pgoutput"},
      {"source.publication", KeyType::kString, "walpost", "publication with the outbox table"},
      {"source.table", KeyType::kStringList, "",
       "outbox table as schema.table, or a list; without a schema: public"},
      {"source.message_prefixes", KeyType::kStringList, "",
       "prefixes of transactional logical messages that are events, beside or instead of a table"},
      {"source.columns", KeyType::kTable, "", "column of a field, where its name isn't recognised"},
      {"source.constants", KeyType::kTable, "", "value of a field that the table doesn't have"},
      {"source.values", KeyType::kTable, "", "names for the values of a field's column"},
      {"routing.topic", KeyType::kString, "outbox.event.{aggregate_type}", "template of the topic"},
      {"routing.allowed_topics", KeyType::kString, "",
       "regular expression that every topic must match; \"\": every topic"},
      {"routing.key", KeyType::kString, "aggregate_id", "field that becomes the message's key"},
      {"routing.null_key", KeyType::kString, "warn", "what to do with an event without a key",
       NamesOf(kNullKeys)},
      {"routing.key_encoding", KeyType::kString, "text", "how the key is written",
       NamesOf(kKeyEncodings)},
      {"routing.tombstone_on_null_payload", KeyType::kBool, "false",
       "whether an event without a payload becomes a message without a value"},
      {"routing.headers", KeyType::kTable, "", "field of a header, beside the defaults"},
      {"routing.header_allowlist", KeyType::kStringList, "",
       "regular expressions for the headers of a row that may pass"},
      {"routing.timestamp", KeyType::kString, "commit", "time of the record", NamesOf(kTimestamps)},
      {"format.value", KeyType::kString, "envelope", "what the message's value holds",
       NamesOf(kFormats)},
      {"sink.type", KeyType::kString, "kafka", "where messages go", SinkNames()},
      {"delivery.on_poison",
       KeyType::kString,
       "stop",
       "what to do with an event that can never be delivered",
       {"stop", "dead_letter"}},
      {"delivery.dead_letter_topic", KeyType::kString, "outbox.dead_letter",
       "where such events go under \"dead_letter\""},
      {"delivery.dead_letter_events", KeyType::kStringList, "",
       "event ids or walpost-lsn values that go there under \"stop\" too"},
      {"delivery.drain_timeout", KeyType::kDuration, "25s",
       "longest time from SIGTERM to the exit"},
      {"delivery.max_inflight_messages", KeyType::kInteger, "10000",
       "messages without an acknowledgement at which reading stops"},
      {"delivery.max_inflight_bytes", KeyType::kBytes, "16MiB",
       "bytes without an acknowledgement at which reading stops"},
      {"admin.listen", KeyType::kString, "127.0.0.1:7480",
       "address of the administration port; \"\": none"},
      {"log.level",
       KeyType::kString,
       "info",
       "least severity that is logged",
       {"debug", "info", "warning", "error"}},
      {"log.format",
       KeyType::kString,
       "auto",
       "auto is logfmt on a terminal, JSON otherwise",
       {"auto", "logfmt", "json"}},
  };
}

// The checks of other folders name the key first; where it was set is known only here.
absl::Status WithOrigin(const Settings& settings, const absl::Status& status) {
  const std::string_view message = MessageOf(status);
  const std::string_view name = message.substr(0, message.find_first_of(": ='"));
  const KeySpec* found = nullptr;
  for (const KeySpec& spec : settings.specs()) {
    const bool entry =
        spec.type == KeyType::kTable && name.substr(0, spec.name.size()) == spec.name;
    if (spec.name == name || entry) found = &spec;
  }
  if (found == nullptr) return WithExitCode(status, ExitCode::kConfiguration);
  const std::string text = absl::StrCat(ToAbsl(name), " (", settings.OriginOf(found->name), ")",
                                        ToAbsl(message.substr(name.size())));
  return WithExitCode(WithHint(Error(status.code(), text), HintOf(status)),
                      ExitCode::kConfiguration);
}

bool IsSlotName(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !name.empty() && name.size() <= 63 &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= 63 && name.find('\0') == std::string_view::npos;
}

// "schema.table" or "table", exactly as the catalogue has them: nothing is folded to lower case. A
// part with a dot or a quote in it stands in quotes, as in SQL.
std::optional<capture::TableName> ParseTable(std::string_view text) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  bool ended = false;  // a quoted part: a dot must follow
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && text.substr(i + 1, 1) == "\"") {
      parts.back() += text[++i];
    } else if (c == '"') {
      if (!quoted && (ended || !parts.back().empty())) return std::nullopt;
      ended = quoted;
      quoted = !quoted;
    } else if (c == '.' && !quoted) {
      parts.emplace_back();
      ended = false;
    } else if (ended) {
      return std::nullopt;
    } else {
      parts.back() += c;
    }
  }
  if (parts.size() == 1) parts.insert(parts.begin(), "public");
  if (quoted || parts.size() != 2 || !IsName(parts[0]) || !IsName(parts[1])) return std::nullopt;
  return capture::TableName{std::move(parts[0]), std::move(parts[1])};
}

absl::Status ReadTables(Config& config) {
  const std::vector<std::string> tables = config.settings.GetList("source.table");
  config.message_prefixes = config.settings.GetList("source.message_prefixes");
  for (const std::string& prefix : config.message_prefixes) {
    if (prefix.empty())
      return config.settings.Fault("source.message_prefixes", "holds an empty one");
  }
  if (tables.empty() && config.message_prefixes.empty()) {
    return config.settings.Fault("source.table",
                                 "is not set; name the outbox table as schema.table");
  }
  for (const std::string& text : tables) {
    std::optional<capture::TableName> table = ParseTable(text);
    if (!table) {
      return config.settings.Fault("source.table",
                                   absl::StrCat("'", text,
                                                "' is no table name; write schema.table, with "
                                                "double quotes around a part that has a dot"));
    }
    if (std::find(config.tables.begin(), config.tables.end(), *table) != config.tables.end()) {
      return config.settings.Fault("source.table", absl::StrCat("names '", text, "' twice"));
    }
    config.tables.push_back(*std::move(table));
  }
  return absl::OkStatus();
}

absl::Status ReadSource(const ConfigSources& sources, Config& config) {
  const Settings& settings = config.settings;
  config.dsn = ApplyConnectionFlags(settings.GetString("source.dsn"), sources.connection);
  const absl::Status dsn = CheckDsn(config.dsn);
  if (!dsn.ok()) return settings.Fault("source.dsn", absl::StrCat("is ", dsn.message()));
  config.slot = settings.GetString("source.slot");
  if (!IsSlotName(config.slot)) {
    return settings.Fault("source.slot", absl::StrCat("'", config.slot,
                                                      "' is no slot name; use 1 to 63 lower-case "
                                                      "letters, digits and underscores"));
  }
  config.publication = settings.GetString("source.publication");
  if (!IsName(config.publication)) {
    return settings.Fault("source.publication", "has to be a name of 1 to 63 bytes");
  }
  return ReadTables(config);
}

absl::Status ReadMapping(Config& config) {
  const Settings& settings = config.settings;
  config.mapping.columns = settings.GetTable("source.columns");
  config.mapping.constants = settings.GetTable("source.constants");
  for (const auto& [path, name] : settings.GetTable("source.values")) {
    // Names of fields have no dot; values may.
    const std::size_t dot = path.find('.');
    if (dot == std::string::npos) {
      return settings.Fault(
          "source.values",
          absl::StrCat("'", path, "' has to be a table, as { \"0\" = \"CREATED\" }"));
    }
    config.mapping.values[path.substr(0, dot)][path.substr(dot + 1)] = name;
  }
  return WithOrigin(settings, outbox::CheckMappingOptions(config.mapping));
}

absl::Status ReadRouting(Config& config) {
  const Settings& settings = config.settings;
  outbox::RoutingOptions& routing = config.routing;
  routing.topic = settings.GetString("routing.topic");
  routing.allowed_topics = settings.GetString("routing.allowed_topics");
  routing.key = settings.GetString("routing.key");
  routing.null_key = ValueOf(kNullKeys, settings, "routing.null_key");
  routing.key_encoding = ValueOf(kKeyEncodings, settings, "routing.key_encoding");
  routing.tombstone_on_null_payload = settings.GetBool("routing.tombstone_on_null_payload");
  routing.headers = settings.GetTable("routing.headers");
  routing.header_allowlist = settings.GetList("routing.header_allowlist");
  routing.timestamp = ValueOf(kTimestamps, settings, "routing.timestamp");
  config.format = ValueOf(kFormats, settings, "format.value");
  return WithOrigin(settings, outbox::MessageBuilder::Make(routing, config.format).status());
}

absl::Status ReadDelivery(Config& config) {
  const Settings& settings = config.settings;
  config.poison = {.dead_letter = settings.GetString("delivery.on_poison") == "dead_letter",
                   .dead_letter_topic = settings.GetString("delivery.dead_letter_topic"),
                   .events = settings.GetList("delivery.dead_letter_events")};
  if (!outbox::IsTopicName(config.poison.dead_letter_topic)) {
    return settings.Fault("delivery.dead_letter_topic",
                          "has to be a topic's name: 1 to 249 letters, digits, '.', '_' and '-'");
  }
  config.drain_timeout = settings.GetDuration("delivery.drain_timeout");
  if (config.drain_timeout == absl::ZeroDuration()) {
    return settings.Fault("delivery.drain_timeout", "has to be longer than zero");
  }
  const std::int64_t messages = settings.GetInteger("delivery.max_inflight_messages");
  if (messages < 1 || messages > kMostInflightMessages) {
    return settings.Fault("delivery.max_inflight_messages",
                          absl::StrCat("has to lie between 1 and ", kMostInflightMessages));
  }
  config.max_inflight_messages = static_cast<std::size_t>(messages);
  config.max_inflight_bytes = settings.GetBytes("delivery.max_inflight_bytes");
  if (config.max_inflight_bytes == 0) {
    return settings.Fault("delivery.max_inflight_bytes", "has to be more than zero");
  }
  return absl::OkStatus();
}

absl::Status ReadAdminAndLog(Config& config) {
  const Settings& settings = config.settings;
  config.admin_listen = settings.GetString("admin.listen");
  if (!config.admin_listen.empty()) {
    const auto address = ParseListenAddress(config.admin_listen);
    if (!address.ok()) return settings.Fault("admin.listen", MessageOf(address.status()));
  }
  config.log_level = log::ParseLevel(settings.GetString("log.level")).value();
  config.log_format = log::ParseFormat(settings.GetString("log.format")).value();
  return absl::OkStatus();
}

absl::Status ReadSink(Config& config) {
  config.sink_type = config.settings.GetString("sink.type");
  const sink::SinkType* type = sink::FindSinkType(config.sink_type);
  WALPOST_CHECK(type != nullptr);  // the choices of sink.type are that table's
  return WithOrigin(config.settings, type->check(config.settings));
}

}  // namespace

std::vector<KeySpec> AllKeys() {
  std::vector<KeySpec> keys = CoreKeys();
  for (const sink::SinkType& type : sink::SinkTypes()) {
    keys.insert(keys.end(), type.keys.begin(), type.keys.end());
  }
  return keys;
}

absl::StatusOr<Config> LoadConfig(const ConfigSources& sources, ConfigScope scope) {
  ASSIGN_OR_RETURN(Settings settings,
                   LoadSettings(AllKeys(), sources.file, sources.environment, sources.flags));
  Config config(std::move(settings));
  RETURN_IF_ERROR(ReadAdminAndLog(config));
  if (scope != ConfigScope::kSink) {
    RETURN_IF_ERROR(ReadSource(sources, config));
    RETURN_IF_ERROR(ReadMapping(config));
  }
  if (scope == ConfigScope::kSource) return config;
  RETURN_IF_ERROR(ReadRouting(config));
  RETURN_IF_ERROR(ReadDelivery(config));
  RETURN_IF_ERROR(ReadSink(config));
  return config;
}

}  // namespace walpost
