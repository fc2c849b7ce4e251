#include "sink/kafka/producer_config.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace walpost::sink::kafka {
namespace {

struct Property {
  const char* name;
  const char* value;
};

// What every profile shares and an operator may change.
constexpr Property kDefaults[] = {
    // A commit must not wait for the acknowledgement of the one before.
    {"socket.nagle.disable", "true"},
    {"socket.keepalive.enable", "true"},
    // The topic's own limit decides what is too large; batch.size how large a batch grows.
    {"message.max.bytes", "1000000000"},
    // One client: a broker that came back is found within a second (librdkafka waits up to ten).
    {"reconnect.backoff.max.ms", "1000"},
};

constexpr Property kGuarantees[] = {
    // Repeated requests neither duplicate nor reorder. Implies acks=all.
    {"enable.idempotence", "true"},
    {"acks", "all"},
    // A rejected batch ends the producer, so that nothing behind it is delivered first.
    {"enable.gapless.guarantee", "true"},
    // A message that is given up is a gap. The slot is the store that retries.
    {"message.timeout.ms", "0"},
    // Only for what librdkafka would place by itself: the sink names the partition.
    {"partitioner", "murmur2_random"},
    // A misspelt topic must not come into being.
    {"allow.auto.create.topics", "false"},
    // Lines come through the event queue, on the loop's thread.
    {"log.queue", "true"},
};

struct Refusal {
  const char* name;  // a trailing '*' stands for any ending
  const char* reason;
};

constexpr char kOrder[] = "order and completeness of delivery rest on it";
constexpr char kDurability[] = "a confirmed position means acks=all";
constexpr char kGap[] = "a message that is given up would be a gap; the slot is the retry store";
constexpr char kWindow[] =
    "it follows from delivery.max_inflight_messages and delivery.max_inflight_bytes";
constexpr char kBrokers[] = "set kafka.brokers";
constexpr char kTransactions[] = "the relay does not produce in transactions";
constexpr char kInternal[] = "the relay handles librdkafka's events itself";
constexpr char kForeignCode[] = "it loads foreign code into the relay";

constexpr Refusal kRefused[] = {
    {"acks", kDurability},
    {"request.required.acks", kDurability},
    {"enable.idempotence", kOrder},
    {"enable.gapless.guarantee", kOrder},
    {"max.in.flight", kOrder},
    {"max.in.flight.requests.per.connection", kOrder},
    {"queuing.strategy", kOrder},
    {"partitioner", "keys must be where the topic's other producers put them (murmur2)"},
    {"message.timeout.ms", kGap},
    {"delivery.timeout.ms", kGap},
    {"retries", kGap},
    {"message.send.max.retries", kGap},
    {"delivery.report.only.error", "a position is confirmed by its delivery reports"},
    {"allow.auto.create.topics", "set kafka.create_topics"},
    {"queue.buffering.max.messages", kWindow},
    {"queue.buffering.max.kbytes", kWindow},
    {"bootstrap.servers", kBrokers},
    {"metadata.broker.list", kBrokers},
    {"transactional.id", kTransactions},
    {"transaction.timeout.ms", kTransactions},
    {"log.queue", kInternal},
    {"enabled_events", kInternal},
    {"opaque", kInternal},
    {"default_topic_conf", kInternal},
    {"dr_cb", kInternal},
    {"dr_msg_cb", kInternal},
    {"plugin.library.paths", kForeignCode},
    {"interceptors", kForeignCode},
    {"test.mock.*", "it replaces the brokers by a mock"},
    {"debug", "its lines may hold secrets"},
    {"ssl.engine.location", kForeignCode},
    {"sasl.kerberos.kinit.cmd", "it runs a command of its own"},
};

absl::Status Invalid(std::string_view message) {
  return Error(absl::StatusCode::kInvalidArgument, message);
}

const Refusal* FindRefusal(std::string_view property) {
  for (const Refusal& refusal : kRefused) {
    std::string_view name = refusal.name;
    if (name.back() == '*' ? property.starts_with(name.substr(0, name.size() - 1))
                           : property == name) {
      return &refusal;
    }
  }
  static constexpr Refusal kCallback = {"*_cb", kInternal};
  return property.ends_with("_cb") ? &kCallback : nullptr;
}

// One of ours: a failure is a librdkafka without the property.
absl::Status SetOwn(rd_kafka_conf_t* conf, const char* name, const std::string& value) {
  char text[256];
  if (rd_kafka_conf_set(conf, name, value.c_str(), text, sizeof text) == RD_KAFKA_CONF_OK) {
    return absl::OkStatus();
  }
  return Invalid(
      absl::StrCat("librdkafka ", rd_kafka_version_str(), " refuses ", name, ": ", text));
}

absl::Status SetForeign(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  const std::string key = absl::StrCat("kafka.properties: '", name, "'");
  if (const Refusal* refusal = FindRefusal(name)) {
    return Invalid(absl::StrCat(key, " can't be set: ", refusal->reason));
  }
  char text[256];
  switch (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), text, sizeof text)) {
    case RD_KAFKA_CONF_OK:
      return absl::OkStatus();
    case RD_KAFKA_CONF_UNKNOWN:
      return Invalid(absl::StrCat(key, " is unknown to librdkafka ", rd_kafka_version_str()));
    case RD_KAFKA_CONF_INVALID:
      break;
  }
  // librdkafka's words may repeat the value.
  if (IsSecretProperty(name)) return Invalid(absl::StrCat(key, " has an invalid value"));
  const std::string_view reason = text;
  return Invalid(absl::StrCat(key, ": ", ToAbsl(reason.substr(0, reason.find('\n')))));
}

absl::Status CheckTokenCommand(rd_kafka_conf_t* conf, const Settings& settings) {
  if (settings.GetList("kafka.token_command").empty()) return absl::OkStatus();
  char mechanism[64];
  std::size_t size = sizeof mechanism;
  rd_kafka_conf_get(conf, "sasl.mechanism", mechanism, &size);
  if (std::string_view(mechanism) != "OAUTHBEARER") {
    return Invalid(
        "kafka.token_command is for \"sasl.mechanism\" = \"OAUTHBEARER\" in "
        "[kafka.properties]");
  }
  return absl::OkStatus();
}

// Settings that the protocol leaves without effect would be a connection in the clear that looks
// like a safe one.
absl::Status CheckSecurity(const Settings& settings) {
  const auto properties = settings.GetTable("kafka.properties");
  const auto found = properties.find("security.protocol");
  const std::string protocol =
      found == properties.end() ? "plaintext" : absl::AsciiStrToLower(found->second);
  for (const auto& [name, value] : properties) {
    const bool tls =
        absl::StartsWith(name, "ssl.") || name == "enable.ssl.certificate.verification";
    const bool sasl = absl::StartsWith(name, "sasl.");
    if ((tls && protocol.find("ssl") == protocol.npos) ||
        (sasl && protocol.find("sasl") == protocol.npos)) {
      return Invalid(absl::StrCat(
          "kafka.properties: '", name, "' has no effect with security.protocol '", protocol,
          "'; set \"security.protocol\" = \"", sasl ? "sasl_ssl" : "ssl", "\""));
    }
  }
  return absl::OkStatus();
}

bool IsHostAndPort(std::string_view broker) {
  const auto colon = broker.rfind(':');
  if (colon == broker.npos || colon == 0) return false;
  const std::string_view host = broker.substr(0, colon);
  if (host.find_first_of(" \t,/") != host.npos) return false;
  // An IPv6 address needs its brackets, or its last group would be the port.
  const bool bracketed = host.front() == '[' && host.back() == ']' && host.size() > 2;
  if (!bracketed && host.find_first_of(":[]") != host.npos) return false;
  std::uint32_t port = 0;
  return absl::SimpleAtoi(ToAbsl(broker.substr(colon + 1)), &port) && port > 0 && port <= 65535;
}

absl::Status SetBrokers(rd_kafka_conf_t* conf, const Settings& settings) {
  const auto brokers = settings.GetList("kafka.brokers");
  if (brokers.empty()) {
    return Invalid("kafka.brokers is empty: name at least one broker as host:port");
  }
  for (const std::string& broker : brokers) {
    if (!IsHostAndPort(broker)) {
      return Invalid(absl::StrCat("kafka.brokers: '", broker,
                                  "' is not host:port (the protocol is security.protocol in "
                                  "[kafka.properties])"));
    }
  }
  return SetOwn(conf, "bootstrap.servers", absl::StrJoin(brokers, ","));
}

absl::Status SetProfile(rd_kafka_conf_t* conf, const Settings& settings) {
  const std::string profile = settings.GetString("kafka.profile");
  // Batches form while a request per partition is in flight, so lingering is not what makes them.
  const char* linger = profile == "throughput" ? "5" : "0";
  const char* codec = profile == "throughput" ? "zstd" : profile == "latency" ? "none" : "lz4";
  RETURN_IF_ERROR(SetOwn(conf, "linger.ms", linger));
  return SetOwn(conf, "compression.type", codec);
}

std::int64_t ReadInteger(rd_kafka_conf_t* conf, const char* name) {
  char text[64];
  std::size_t size = sizeof text;
  std::int64_t value = 0;
  if (rd_kafka_conf_get(conf, name, text, &size) != RD_KAFKA_CONF_OK) return 0;
  return absl::SimpleAtoi(text, &value) ? value : 0;
}

// A bit above the relay's window, which is what holds it back; and by one message of the largest
// size, or that one could never enter.
absl::Status SetQueueBounds(rd_kafka_conf_t* conf, const Settings& settings) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t messages = settings.GetInteger("delivery.max_inflight_messages");
  if (messages < 1 || messages > kMost / 2) {
    return Invalid(absl::StrCat("delivery.max_inflight_messages: ", messages, " is out of range"));
  }
  RETURN_IF_ERROR(
      SetOwn(conf, "queue.buffering.max.messages", absl::StrCat(messages + messages / 8 + 16)));

  const std::uint64_t window_kbytes = settings.GetBytes("delivery.max_inflight_bytes") / 1024;
  const std::int64_t kbytes =
      static_cast<std::int64_t>(std::min<std::uint64_t>(window_kbytes, kMost / 2));
  const std::int64_t largest = ReadInteger(conf, "message.max.bytes") / 1024 + 1;
  return SetOwn(conf, "queue.buffering.max.kbytes", absl::StrCat(kbytes + kbytes / 4 + largest));
}

absl::Status SetBatchSize(rd_kafka_conf_t* conf, std::size_t batch_bytes) {
  const auto wanted = ReadInteger(conf, "batch.size");
  const auto most = static_cast<std::int64_t>(batch_bytes);
  return SetOwn(conf, "batch.size", absl::StrCat(std::min(wanted, most)));
}

// Broker logs and quotas know the relay by its slot.
std::string ClientId(const Settings& settings) {
  if (settings.Find("source.slot") == nullptr) return "walpost";
  const std::string slot = settings.GetString("source.slot");
  return slot.empty() || slot == "walpost" ? "walpost" : absl::StrCat("walpost-", slot);
}

}  // namespace

std::vector<KeySpec> ProducerKeys() {
  return {
      {.name = "kafka.brokers",
       .type = KeyType::kStringList,
       .default_value = "",
       .help = "Brokers to start from, each host:port.",
       .choices = {}},
      {.name = "kafka.profile",
       .default_value = "balanced",
       .help = "balanced: no linger, lz4; latency: no compression either; throughput: 5 ms, zstd.",
       .choices = {"balanced", "latency", "throughput"}},
      {.name = "kafka.create_topics",
       .type = KeyType::kBool,
       .default_value = "false",
       .help = "Create a missing topic with the broker's default partitions and replication.",
       .choices = {}},
      {.name = "kafka.token_command",
       .type = KeyType::kStringList,
       .default_value = "",
       .help = "Command for OAUTHBEARER: prints {\"token\", \"expires_at\", \"principal\"} as JSON",
       .choices = {}},
      // Secret as a whole, since sasl.password is one of them.
      {.name = "kafka.properties",
       .type = KeyType::kTable,
       .default_value = "",
       .help = "Further settings of librdkafka by their own names.",
       .choices = {},
       .secret = true},
  };
}

bool IsSecretProperty(std::string_view property) {
  for (const std::string_view part :
       {"password", "secret", "key.pem", "jaas", "sasl.oauthbearer"}) {
    if (property.find(part) != property.npos) return true;
  }
  return false;
}

std::size_t SafeBatchBytes(std::size_t max_message_bytes) {
  return std::max<std::size_t>(1, max_message_bytes / 10 * 9);
}

std::vector<std::string> TopicsKnownAtStart(const Settings& settings) {
  std::vector<std::string> topics;
  if (settings.Find("routing.topic") == nullptr) return topics;
  const std::string routed = settings.GetString("routing.topic");
  if (routed.find('{') == routed.npos) topics.push_back(routed);
  if (settings.GetString("delivery.on_poison") == "dead_letter" ||
      !settings.GetList("delivery.dead_letter_events").empty()) {
    topics.push_back(settings.GetString("delivery.dead_letter_topic"));
  }
  return topics;
}

absl::StatusOr<ConfHandle> ProducerConf(const Settings& settings, std::size_t batch_bytes) {
  ConfHandle conf(rd_kafka_conf_new());
  RETURN_IF_ERROR(SetBrokers(conf.get(), settings));
  RETURN_IF_ERROR(SetOwn(conf.get(), "client.id", ClientId(settings)));
  RETURN_IF_ERROR(SetProfile(conf.get(), settings));
  for (const Property& property : kDefaults) {
    RETURN_IF_ERROR(SetOwn(conf.get(), property.name, property.value));
  }
  RETURN_IF_ERROR(CheckSecurity(settings));
  for (const auto& [name, value] : settings.GetTable("kafka.properties")) {
    RETURN_IF_ERROR(SetForeign(conf.get(), name, value));
  }
  RETURN_IF_ERROR(CheckTokenCommand(conf.get(), settings));
  for (const Property& property : kGuarantees) {
    RETURN_IF_ERROR(SetOwn(conf.get(), property.name, property.value));
  }
  RETURN_IF_ERROR(SetBatchSize(conf.get(), batch_bytes));
  RETURN_IF_ERROR(SetQueueBounds(conf.get(), settings));
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR |
                                           RD_KAFKA_EVENT_LOG |
                                           RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH);
  return conf;
}

absl::StatusOr<ConfHandle> ConsumerConf(const Settings& settings) {
  ConfHandle conf(rd_kafka_conf_new());
  RETURN_IF_ERROR(SetBrokers(conf.get(), settings));
  RETURN_IF_ERROR(SetOwn(conf.get(), "client.id", absl::StrCat(ClientId(settings), "-tail")));
  for (const auto& [name, value] : settings.GetTable("kafka.properties")) {
    // A producer's own have no meaning here; librdkafka takes them and warns.
    RETURN_IF_ERROR(SetForeign(conf.get(), name, value));
  }
  RETURN_IF_ERROR(SetOwn(conf.get(), "group.id", "walpost-tail"));  // needed, and never joined
  RETURN_IF_ERROR(SetOwn(conf.get(), "enable.auto.commit", "false"));
  RETURN_IF_ERROR(SetOwn(conf.get(), "enable.partition.eof", "true"));
  RETURN_IF_ERROR(SetOwn(conf.get(), "isolation.level", "read_uncommitted"));
  RETURN_IF_ERROR(SetOwn(conf.get(), "allow.auto.create.topics", "false"));
  RETURN_IF_ERROR(SetOwn(conf.get(), "log_level", "3"));
  return conf;
}

}  // namespace walpost::sink::kafka
