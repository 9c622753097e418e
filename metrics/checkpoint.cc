#include "tally/metrics/checkpoint.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "tally/metrics/option_text.h"
#include "tally/state/codec.h"
#include "tally/sync/errors.h"
#include "tally/sync/fingerprint.h"

namespace tally::internal {
namespace {

constexpr char kMagic[8] = {'T', 'A', 'L', 'L', 'Y', 'S', 'T', '\n'};
constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kVersionWithOrigin = 2;
// Far more than there can be, and far less than what sums of them overflow at.
constexpr std::int64_t kMostUpdates = std::int64_t{1} << 53;
constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;

struct Envelope {
  char magic[8];
  std::int64_t version;
  std::int64_t length;     // of what follows
  std::uint64_t checksum;  // of what follows
};

absl::Status data_loss(const std::string& message) {
  return absl::DataLossError(message.c_str());
}

absl::Status check_envelope(const Envelope& envelope, std::int64_t size) {
  if (std::memcmp(envelope.magic, kMagic, sizeof(kMagic)) != 0) {
    return data_loss(
        "expected a Tally checkpoint, got a file without its magic number");
  }
  if (envelope.version != kVersion && envelope.version != kVersionWithOrigin) {
    return precondition(c10::str("the checkpoint has version ",
                                 envelope.version, ", expected ", kVersion,
                                 " or ", kVersionWithOrigin));
  }
  const auto body = size - static_cast<std::int64_t>(sizeof(Envelope));
  if (envelope.length != body) {
    return data_loss(c10::str("the checkpoint is truncated: expected ",
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

// An entry as it lies in a checkpoint.
struct Held {
  std::string label;
  std::string key;
  std::string schema;
  std::int64_t update_count = 0;
  std::int64_t index_offset = 0;
  std::string_view fields;

  bool fits(const CheckpointEntry& entry) const {
    return key == entry.key && schema == entry.state.fields().schema();
  }
  void read_into(CheckpointEntry& entry) const {
    entry.update_count = update_count;
    entry.index_offset = index_offset;
    Decoder(fields).fields(entry.state.fields());
  }
};

// Metrics of the last updates find their place by it.
void check_updates(std::int64_t updates) {
  TORCH_CHECK_VALUE(updates >= 0 && updates <= kMostUpdates,
                    "expected a number of updates, got ", updates);
}

void write_origin(const CheckpointOrigin& origin, Encoder& encoder) {
  encoder.integer(static_cast<std::int64_t>(origin.kind));
  encoder.integer(origin.rank);
  encoder.integer(origin.ranks);
  encoder.integer(origin.set);
  encoder.integer(origin.turn);
}

CheckpointOrigin read_origin(Decoder& decoder) {
  using Kind = CheckpointOrigin::Kind;
  CheckpointOrigin origin;
  origin.kind = static_cast<Kind>(decoder.integer());
  origin.rank = decoder.integer();
  origin.ranks = decoder.integer();
  origin.set = decoder.integer();
  origin.turn = decoder.integer();
  TORCH_CHECK_VALUE(
      origin.kind >= Kind::kUnknown && origin.kind <= Kind::kFiles &&
          origin.ranks >= 1 && origin.ranks <= kMostRanks && origin.rank >= 0 &&
          origin.rank < origin.ranks && (origin.turn == 0 || origin.turn == 1),
      "expected to read whose states they are");
  return origin;
}

std::vector<Held> held_entries(std::string_view body, Decoder& decoder,
                               bool with_offsets) {
  std::vector<Held> all;
  const std::int64_t count = decoder.integer();
  TORCH_CHECK_VALUE(count >= 0, "expected a number of states, got ", count);
  for (std::int64_t i = 0; i < count; ++i) {
    Held& held = all.emplace_back();
    held.label = decoder.text();
    held.key = decoder.text();
    held.schema = decoder.text();
    held.update_count = decoder.integer();
    check_updates(held.update_count);
    if (with_offsets) {
      held.index_offset = decoder.integer();
      TORCH_CHECK_VALUE(held.index_offset >= -kMostUpdates &&
                            held.index_offset <= kMostUpdates,
                        "expected an offset, got ", held.index_offset);
      check_updates(held.update_count + held.index_offset);
    }
    held.fields = body.substr(body.size() - decoder.remaining());
    decoder.skip_fields(held.schema);
  }
  TORCH_CHECK_VALUE(decoder.remaining() == 0, "expected its end, got ",
                    decoder.remaining(), " more bytes");
  return all;
}

/// "'accuracy', 'loss'".
template <class Entries>
std::string labels_of(const Entries& entries) {
  std::string text;
  for (const auto& entry : entries) {
    text += (text.empty() ? "'" : ", '") + entry.label + "'";
  }
  return text.empty() ? "none" : text;
}

/// What stands between separators.
std::vector<std::string> parts_of(const std::string& text, char separator) {
  const auto parts = split_outside(text, separator);
  if (!parts.ok()) return {text};
  return {parts->begin(), parts->end()};
}

/// "Counts(num_classes=3; validate_args=true)" as "Counts" and its options.
std::pair<std::string, std::vector<std::string>> key_parts(
    const std::string& key) {
  const std::size_t open = std::min(key.find('('), key.size());
  std::vector<std::string> options;
  if (key.size() > open + 2) {
    const std::string inside = key.substr(open + 1, key.size() - open - 2);
    for (const std::string& half : parts_of(inside, ';')) {
      for (std::string& option : parts_of(half, ',')) {
        options.push_back(std::move(option));
      }
    }
  }
  return {key.substr(0, open), std::move(options)};
}

/// The texts that are not among the others as well.
std::string only_in(const std::vector<std::string>& texts,
                    const std::vector<std::string>& others) {
  std::string only;
  for (const std::string& text : texts) {
    if (std::find(others.begin(), others.end(), text) == others.end()) {
      only += (only.empty() ? "" : ", ") + text;
    }
  }
  return only.empty() ? "nothing else" : only;
}

std::string difference(const Held& held, const CheckpointEntry& entry) {
  const auto [held_name, held_options] = key_parts(held.key);
  const auto [name, options] = key_parts(entry.key);
  if (held_name != name) {
    return c10::str("the checkpoint holds '", held.label, "' with the state ",
                    held_name, ", expected '", entry.label, "' with the state ",
                    name);
  }
  if (held.label != entry.label) {
    return c10::str("the checkpoint holds the state of '", held.label,
                    "', expected that of '", entry.label, "'");
  }
  if (held.key != entry.key) {
    return c10::str("the checkpoint of '", held.label, "' is of ",
                    only_in(held_options, options), "; expected ",
                    only_in(options, held_options));
  }
  const auto held_fields = parts_of(held.schema, ';');
  const auto fields = parts_of(entry.state.fields().schema(), ';');
  return c10::str("the checkpoint of '", held.label, "' has the fields ",
                  only_in(held_fields, fields), "; expected ",
                  only_in(fields, held_fields));
}

absl::Status read_all_held(const std::vector<Held>& held,
                           std::vector<CheckpointEntry>& entries) {
  if (held.size() != entries.size()) {
    return precondition(c10::str("the checkpoint holds the states of ",
                                 labels_of(held), "; expected those of ",
                                 labels_of(entries)));
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i].label != entries[i].label || !held[i].fits(entries[i])) {
      return precondition(difference(held[i], entries[i]));
    }
    held[i].read_into(entries[i]);
  }
  return absl::OkStatus();
}

void read_parts(const std::vector<Held>& held,
                std::vector<CheckpointEntry>& entries, CheckpointGaps& gaps) {
  std::vector<bool> used(held.size()), filled(entries.size());
  // Different accumulators may have one name and the same fields: then the
  // label decides.
  for (const bool same_label : {true, false}) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      for (std::size_t h = 0; h < held.size() && !filled[i]; ++h) {
        if (used[h] || !held[h].fits(entries[i]) ||
            (same_label && held[h].label != entries[i].label)) {
          continue;
        }
        held[h].read_into(entries[i]);
        used[h] = filled[i] = true;
      }
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!filled[i]) gaps.unfilled.push_back(i);
  }
  for (std::size_t h = 0; h < held.size(); ++h) {
    if (!used[h]) gaps.unread.push_back(held[h].label);
  }
}

/// `read(held)` gives a status.
template <class Read>
absl::Status read_intact(std::string_view bytes, CheckOrigin check,
                         const Read& read) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const absl::Status head = check_checkpoint(bytes, size);
  if (!head.ok()) return head;
  Envelope envelope;
  std::memcpy(&envelope, bytes.data(), sizeof(envelope));
  const std::string_view body = bytes.substr(sizeof(envelope));
  if (envelope.checksum != sync::fingerprint(body)) {
    return data_loss("the checkpoint is damaged: its checksum does not match");
  }
  try {
    Decoder decoder(body);
    const bool has_origin = envelope.version == kVersionWithOrigin;
    const absl::Status checked =
        check(has_origin ? read_origin(decoder) : CheckpointOrigin());
    if (!checked.ok()) return checked;
    return read(held_entries(body, decoder, has_origin));
  } catch (const std::exception& error) {
    return damaged(error);
  }
}

}  // namespace

absl::Status precondition(const std::string& message) {
  return absl::FailedPreconditionError(message.c_str());
}

std::string write_checkpoint(const std::vector<CheckpointEntry>& entries,
                             const CheckpointOrigin& origin) {
  const bool has_origin =
      origin.kind != CheckpointOrigin::Kind::kUnknown ||
      std::any_of(entries.begin(), entries.end(),
                  [](const auto& entry) { return entry.index_offset != 0; });
  std::string bytes(sizeof(Envelope), '\0');
  Encoder encoder(bytes);
  if (has_origin) write_origin(origin, encoder);
  encoder.integer(static_cast<std::int64_t>(entries.size()));
  for (const CheckpointEntry& entry : entries) {
    encoder.text(entry.label);
    encoder.text(entry.key);
    encoder.text(entry.state.fields().schema());
    encoder.integer(entry.update_count);
    if (has_origin) encoder.integer(entry.index_offset);
    encoder.fields(entry.state.fields());
  }
  const std::string_view body =
      std::string_view(bytes).substr(sizeof(Envelope));
  Envelope envelope{};
  std::memcpy(envelope.magic, kMagic, sizeof(kMagic));
  envelope.version = has_origin ? kVersionWithOrigin : kVersion;
  envelope.length = static_cast<std::int64_t>(body.size());
  envelope.checksum = sync::fingerprint(body);
  std::memcpy(bytes.data(), &envelope, sizeof(envelope));
  return bytes;
}

absl::Status check_own(const CheckpointOrigin& of_file,
                       const CheckpointOrigin& own) {
  switch (of_file.kind) {
    case CheckpointOrigin::Kind::kUnknown:
      return absl::OkStatus();
    case CheckpointOrigin::Kind::kOneRank:
      if (own.ranks == 1 ||
          (of_file.rank == own.rank && of_file.ranks == own.ranks)) {
        return absl::OkStatus();
      }
      return precondition(c10::str(
          "the checkpoint holds the state of rank ", of_file.rank, " of ",
          of_file.ranks, ", but this is rank ", own.rank, " of ", own.ranks,
          "; for another number of ranks, or a single file, use save and load "
          "with CheckpointRanks"));
    case CheckpointOrigin::Kind::kAllRanks:
      if (own.ranks == 1) return absl::OkStatus();
      return precondition(c10::str(
          "the checkpoint holds the state of all ranks, which would be "
          "counted ",
          own.ranks, " times; use load with CheckpointRanks::kOneFile"));
    case CheckpointOrigin::Kind::kFiles:
      break;
  }
  return precondition(c10::str(
      "the checkpoint consists of ", of_file.ranks,
      " files, one per rank; use load with CheckpointRanks::kFilePerRank"));
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
                             std::vector<CheckpointEntry>& entries,
                             CheckOrigin check) {
  std::vector<CheckpointEntry> filled = entries;
  const absl::Status status =
      read_intact(bytes, check, [&](const std::vector<Held>& held) {
        return read_all_held(held, filled);
      });
  if (status.ok()) entries = std::move(filled);
  return status;
}

absl::Status read_checkpoint_parts(std::string_view bytes,
                                   std::vector<CheckpointEntry>& entries,
                                   CheckpointGaps& gaps, CheckOrigin check) {
  std::vector<CheckpointEntry> filled = entries;
  CheckpointGaps found;
  const absl::Status status =
      read_intact(bytes, check, [&](const std::vector<Held>& held) {
        read_parts(held, filled, found);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  entries = std::move(filled);
  gaps = std::move(found);
  return status;
}

}  // namespace tally::internal
