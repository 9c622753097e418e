#include "tally/metrics/checkpoint.h"

#include <c10/util/Exception.h>

#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "tally/state/codec.h"
#include "tally/sync/errors.h"
#include "tally/sync/exchange/fingerprint.h"

namespace tally::internal {
namespace {

constexpr char kMagic[8] = {'T', 'A', 'L', 'L', 'Y', 'S', 'T', '\n'};
constexpr std::int64_t kVersion = 1;
// Far more than there can be, and far less than what sums of them overflow at.
constexpr std::int64_t kMostUpdates = std::int64_t{1} << 53;

struct Envelope {
  char magic[8];
  std::int64_t version;
  std::int64_t length;     // of what follows
  std::uint64_t checksum;  // of what follows
};

// absl's string_view is a type of its own here.
absl::Status data_loss(const std::string& message) {
  return absl::DataLossError(message.c_str());
}
absl::Status precondition(const std::string& message) {
  return absl::FailedPreconditionError(message.c_str());
}

absl::Status check_envelope(const Envelope& envelope, std::int64_t size) {
  if (std::memcmp(envelope.magic, kMagic, sizeof(kMagic)) != 0) {
    return data_loss(
        "expected a Tally checkpoint, got a file without its mark");
  }
  if (envelope.version != kVersion) {
    return precondition(c10::str("the checkpoint has version ",
                                 envelope.version, ", expected ", kVersion));
  }
  const auto body = size - static_cast<std::int64_t>(sizeof(Envelope));
  if (envelope.length != body) {
    return data_loss(c10::str("the checkpoint was cut: expected ",
                              envelope.length, " bytes, got ", body));
  }
  return absl::OkStatus();
}

absl::Status damaged(const std::exception& error) {
  const std::string what = sync::describe(error);
  const bool is_memory =
      dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      what.find("can't allocate memory") != what.npos;
  if (!is_memory) return data_loss("the checkpoint is damaged: " + what);
  const std::string message = "no memory for the checkpoint: " + what;
  return absl::ResourceExhaustedError(message.c_str());
}

std::string describe(const std::string& key, const std::string& schema) {
  return key + " {" + schema + "}";
}

void decode(Decoder& decoder, std::vector<CheckpointEntry>& entries,
            absl::Status& status) {
  const std::int64_t count = decoder.integer();
  if (count != static_cast<std::int64_t>(entries.size())) {
    status = precondition(c10::str("the checkpoint holds ", count,
                                   " states, expected ", entries.size()));
    return;
  }
  for (CheckpointEntry& entry : entries) {
    const std::string label = decoder.text();
    const std::string key = decoder.text();
    const std::string schema = decoder.text();
    const Fields fields = entry.state.fields();
    if (label != entry.label || key != entry.key || schema != fields.schema()) {
      status = precondition(c10::str("the checkpoint holds ", label, " = ",
                                     describe(key, schema), ", expected ",
                                     entry.label, " = ",
                                     describe(entry.key, fields.schema())));
      return;
    }
    entry.update_count = decoder.integer();
    // Metrics of the last updates find their place by it.
    TORCH_CHECK_VALUE(
        entry.update_count >= 0 && entry.update_count <= kMostUpdates,
        "expected a number of updates, got ", entry.update_count);
    decoder.fields(fields);
  }
  if (decoder.remaining() != 0) {
    status = data_loss(c10::str("the checkpoint has ", decoder.remaining(),
                                " bytes too many"));
  }
}

}  // namespace

std::string write_checkpoint(const std::vector<CheckpointEntry>& entries) {
  std::string bytes(sizeof(Envelope), '\0');
  Encoder encoder(bytes);
  encoder.integer(static_cast<std::int64_t>(entries.size()));
  for (const CheckpointEntry& entry : entries) {
    encoder.text(entry.label);
    encoder.text(entry.key);
    encoder.text(entry.state.fields().schema());
    encoder.integer(entry.update_count);
    encoder.fields(entry.state.fields());
  }
  const std::string_view body =
      std::string_view(bytes).substr(sizeof(Envelope));
  Envelope envelope{};
  std::memcpy(envelope.magic, kMagic, sizeof(kMagic));
  envelope.version = kVersion;
  envelope.length = static_cast<std::int64_t>(body.size());
  envelope.checksum = sync::fingerprint(body);
  std::memcpy(bytes.data(), &envelope, sizeof(envelope));
  return bytes;
}

absl::Status check_checkpoint(std::string_view head, std::int64_t size) {
  Envelope envelope;
  if (head.size() < sizeof(envelope)) {
    return data_loss(
        c10::str("expected a Tally checkpoint, got ", size, " bytes"));
  }
  std::memcpy(&envelope, head.data(), sizeof(envelope));
  return check_envelope(envelope, size);
}

absl::Status read_checkpoint(std::string_view bytes,
                             std::vector<CheckpointEntry>& entries) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const absl::Status head = check_checkpoint(bytes, size);
  if (!head.ok()) return head;
  Envelope envelope;
  std::memcpy(&envelope, bytes.data(), sizeof(envelope));
  const std::string_view body = bytes.substr(sizeof(envelope));
  if (envelope.checksum != sync::fingerprint(body)) {
    return data_loss("the checkpoint is damaged: its checksum does not match");
  }
  std::vector<CheckpointEntry> filled = entries;
  absl::Status status;
  try {
    Decoder decoder(body);
    decode(decoder, filled, status);
  } catch (const std::exception& error) {
    return damaged(error);
  }
  if (status.ok()) entries = std::move(filled);
  return status;
}

}  // namespace tally::internal
