// The contract with consumers against every released form of it (proto/README.md).

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "unit/outbox/support.h"
#include "walpost/v1/envelope.pb.h"

namespace walpost::outbox {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFile[] = "walpost/v1/envelope.proto";

// What of a field a consumer's generated code or stored bytes depend on.
std::string Meaning(const DescriptorProto& message, const FieldDescriptorProto& field) {
  std::string meaning = field.name() + " = " + std::to_string(field.number()) + ", type " +
                        std::to_string(field.type()) + " " + field.type_name() + ", label " +
                        std::to_string(field.label());
  if (field.proto3_optional()) {
    meaning += ", optional";
  } else if (field.has_oneof_index()) {
    meaning += ", in " + message.oneof_decl(field.oneof_index()).name();
  }
  return meaning;
}

// How `current` breaks what `released` promised; empty if it doesn't.
std::vector<std::string> Breaks(const FileDescriptorProto& released,
                                const FileDescriptorProto& current) {
  std::vector<std::string> breaks;
  if (current.package() != released.package()) breaks.push_back("package " + current.package());
  if (current.message_type_size() == 0 || current.message_type(0).name() != "Envelope") {
    breaks.emplace_back("Envelope isn't the first message");
  }
  for (const DescriptorProto& message : released.message_type()) {
    const DescriptorProto* now = nullptr;
    for (const DescriptorProto& candidate : current.message_type()) {
      if (candidate.name() == message.name()) now = &candidate;
    }
    if (now == nullptr) {
      breaks.push_back("message " + message.name() + " removed");
      continue;
    }
    for (const FieldDescriptorProto& field : message.field()) {
      const std::string meaning = Meaning(message, field);
      bool kept = false;
      for (const FieldDescriptorProto& candidate : now->field()) {
        kept = kept || Meaning(*now, candidate) == meaning;
      }
      if (!kept) breaks.push_back(message.name() + "." + meaning);
    }
  }
  return breaks;
}

FileDescriptorProto Current() {
  FileDescriptorProto file;
  v1::Envelope::descriptor()->file()->CopyTo(&file);
  return file;
}

TEST(Descriptor, KeepsWhatEveryReleasePromised) {
  const char* folder = std::getenv("WALPOST_RELEASED_PROTO");
  ASSERT_NE(folder, nullptr) << "set by the build";
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    FileDescriptorSet set;
    ASSERT_TRUE(set.ParseFromIstream(&in)) << entry.path();
    for (const FileDescriptorProto& file : set.file()) {
      if (file.name() != kFile) continue;
      EXPECT_THAT(Breaks(file, Current()), IsEmpty()) << entry.path();
      ++compared;
    }
  }
  EXPECT_GE(compared, 1);
}

// The comparison itself: each change that would break a consumer is seen, additions are not.
class DescriptorChange : public ::testing::Test {
 protected:
  std::vector<std::string> After(const std::function<void(FileDescriptorProto&)>& change) {
    FileDescriptorProto changed = Current();
    change(changed);
    return Breaks(Current(), changed);
  }
  static FieldDescriptorProto& Payload(FileDescriptorProto& file) {
    for (FieldDescriptorProto& field : *file.mutable_message_type(0)->mutable_field()) {
      if (field.name() == "payload") return field;
    }
    return *file.mutable_message_type(0)->mutable_field(0);
  }
};

TEST_F(DescriptorChange, AdditionsAreAllowed) {
  EXPECT_THAT(After([](FileDescriptorProto& file) {
                FieldDescriptorProto* field = file.mutable_message_type(0)->add_field();
                field->set_name("added");
                field->set_number(16);
                field->set_type(FieldDescriptorProto::TYPE_STRING);
                file.add_message_type()->set_name("Added");
              }),
              IsEmpty());
}

TEST_F(DescriptorChange, ARemovedFieldBreaks) {
  for (int i = 0; i < Current().message_type(0).field_size(); ++i) {
    EXPECT_EQ(After([i](FileDescriptorProto& file) {
                file.mutable_message_type(0)->mutable_field()->DeleteSubrange(i, 1);
              }).size(),
              1U);
  }
}

TEST_F(DescriptorChange, AFieldThatMeansSomethingElseBreaks) {
  const std::vector<std::function<void(FieldDescriptorProto&)>> changes = {
      [](auto& field) { field.set_name("body"); },
      [](auto& field) { field.set_number(70); },
      [](auto& field) { field.set_type(FieldDescriptorProto::TYPE_STRING); },
      [](auto& field) { field.set_label(FieldDescriptorProto::LABEL_REPEATED); },
      [](auto& field) { field.set_proto3_optional(false); },
  };
  for (const auto& change : changes) {
    EXPECT_THAT(After([&change](FileDescriptorProto& file) { change(Payload(file)); }),
                Contains(HasSubstr("Envelope.payload = 7")));
  }
}

TEST_F(DescriptorChange, ARemovedOrMovedMessageBreaks) {
  EXPECT_THAT(
      After([](FileDescriptorProto& file) { file.mutable_message_type()->DeleteSubrange(1, 1); }),
      Contains("message Header removed"));
  EXPECT_THAT(
      After([](FileDescriptorProto& file) { file.mutable_message_type()->SwapElements(0, 1); }),
      Contains("Envelope isn't the first message"));
  EXPECT_THAT(After([](FileDescriptorProto& file) { file.set_package("walpost.v2"); }),
              Contains("package walpost.v2"));
}

}  // namespace
}  // namespace walpost::outbox
