#include "tally/metrics/checkpoint/checkpoint.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "tally/metrics/checkpoint/envelope.h"
#include "tally/metrics/checkpoint/held_checkpoint.h"
#include "tally/state/codec.h"
#include "tally/state/joined.h"
#include "tally/sync/errors.h"
#include "tally/sync/fingerprint.h"

namespace tally::internal {
namespace {

// Far more than there can be, and far less than what sums of them overflow at.
constexpr std::int64_t kMostUpdates = std::int64_t{1} << 53;
constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;
absl::Status data_loss(const std::string& message) {
  return absl::DataLossError(message.c_str());
}

/// Reads it from the first bytes of so many.
absl::Status read_envelope(std::string_view head, std::int64_t size,
                           Envelope& envelope) {
  if (head.size() < sizeof(envelope)) {
    return data_loss(
        c10::str("expected a Tally checkpoint, got ", size, " bytes"));
  }
  std::memcpy(&envelope, head.data(), sizeof(envelope));
  if (std::memcmp(envelope.magic, kMagic, sizeof(kMagic)) != 0) {
    return data_loss(
        "expected a Tally checkpoint, got a file without its magic number");
  }
  if (envelope.version < kVersion || envelope.version > kVersionWithHead) {
    return precondition(
        c10::str("the checkpoint has version ", envelope.version, ", expected ",
                 kVersion, " to ", kVersionWithHead,
                 envelope.version > kVersionWithHead
                     ? ": it was written by a newer version of Tally"
                     : ""));
  }
  const auto body = size - static_cast<std::int64_t>(sizeof(Envelope));
  if (envelope.length != body) {
    return data_loss(c10::str(
        "the checkpoint is ", envelope.length > body ? "truncated" : "too long",
        ": expected ", envelope.length, " bytes, got ", body));
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

// Metrics of the last updates find their place by it.
void check_updates(std::int64_t updates) {
  TORCH_CHECK_VALUE(updates >= 0 && updates <= kMostUpdates,
                    "expected a number of updates, got ", updates);
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

/// A column's label, key and schema.
HeldCheckpoint::Column read_column(Decoder& decoder) {
  HeldCheckpoint::Column column;
  column.label = decoder.text();
  column.key = decoder.text();
  column.schema = decoder.text();
  return column;
}

std::int64_t read_size(Decoder& decoder, const char* of) {
  const std::int64_t count = decoder.integer();
  TORCH_CHECK_VALUE(count >= 0, "expected a number of ", of, ", got ", count);
  return count;
}

HeldCheckpoint::Cell read_cell(std::string_view body, Decoder& decoder,
                               const std::string& schema,
                               std::int64_t version) {
  HeldCheckpoint::Cell cell;
  cell.count = decoder.integer();
  check_updates(cell.count);
  if (version >= kVersionWithOrigin) {
    cell.index_offset = decoder.integer();
    TORCH_CHECK_VALUE(
        cell.index_offset >= -kMostUpdates && cell.index_offset <= kMostUpdates,
        "expected an offset, got ", cell.index_offset);
    check_updates(cell.count + cell.index_offset);
  }
  if (version >= kVersionWithKeys) cell.is_defined = decoder.integer() != 0;
  if (!cell.is_defined) return cell;
  cell.fields = body.substr(body.size() - decoder.remaining());
  decoder.skip_fields(schema);
  return cell;
}

void read_rows(std::string_view body, Decoder& decoder, HeldCheckpoint& held) {
  held.owner = decoder.text();
  TORCH_CHECK_VALUE(!held.owner.empty(), "expected whose rows they are");
  held.update_count = decoder.integer();
  check_updates(held.update_count);
  for (std::int64_t left = read_size(decoder, "states"); left > 0; --left) {
    held.columns.push_back(read_column(decoder));
  }
  for (std::int64_t left = read_size(decoder, "rows"); left > 0; --left) {
    std::string key = decoder.text();
    TORCH_CHECK_VALUE(held.keys.empty() || held.keys.back() < key,
                      "expected keys in their order");
    held.keys.push_back(std::move(key));
    held.values.push_back(decoder.text());
    for (const HeldCheckpoint::Column& column : held.columns) {
      held.cells.push_back(
          read_cell(body, decoder, column.schema, kVersionWithKeys));
    }
  }
}

HeldCheckpoint read_body(std::string_view body, Decoder& decoder,
                         std::int64_t version) {
  HeldCheckpoint held;
  if (version == kVersionWithKeys) {
    read_rows(body, decoder, held);
  } else {
    for (std::int64_t left = read_size(decoder, "states"); left > 0; --left) {
      held.columns.push_back(read_column(decoder));
      held.cells.push_back(
          read_cell(body, decoder, held.columns.back().schema, version));
    }
  }
  TORCH_CHECK_VALUE(decoder.remaining() == 0, "expected its end, got ",
                    decoder.remaining(), " more bytes");
  return held;
}

/// "'accuracy', 'loss'".
template <class Columns>
std::string labels_of(const Columns& columns) {
  const std::string text = internal::joined(
      ", ", columns,
      [](const auto& column) { return "'" + column.label + "'"; });
  return text.empty() ? "none" : text;
}

std::string held_text(const std::string& owner, const std::string& labels) {
  return owner.empty() ? "the states of " + labels : "the rows of " + owner;
}

void check_values(const RowKeys& rules,
                  const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    if (value.empty()) continue;
    TORCH_CHECK_VALUE(rules.check_value != nullptr, "expected no values");
    rules.check_value(value);
  }
}

absl::Status take_rows(const HeldCheckpoint& held, CheckpointRows& rows) {
  const std::string owner = rows.rules != nullptr ? rows.rules->owner : "";
  if (held.owner != owner || held.columns.size() != rows.columns.size()) {
    return precondition(c10::str(
        "the checkpoint holds ", held_text(held.owner, labels_of(held.columns)),
        "; expected ",
        held.owner == owner ? "those of " + labels_of(rows.columns)
                            : held_text(owner, labels_of(rows.columns))));
  }
  for (std::size_t c = 0; c < held.columns.size(); ++c) {
    if (held.columns[c].label != rows.columns[c].label ||
        !held.columns[c].fits(rows.columns[c])) {
      return precondition(column_difference(held.columns[c], rows.columns[c]));
    }
  }
  if (rows.rules != nullptr) {
    check_values(*rows.rules, held.values);
    try {
      rows.rules->check(held.keys, /*others=*/0);
    } catch (const c10::ValueError& error) {
      return precondition(sync::describe(error));
    }
  }
  rows.sources = held.head.sources;
  rows.keys = held.keys;
  rows.values = held.values;
  rows.update_count = held.update_count;
  rows.cells.assign(held.cells.size(), StoredCell());
  for (std::size_t i = 0; i < held.cells.size(); ++i) {
    const std::size_t c = i % rows.columns.size();
    held.cells[i].read_into(rows.columns[c].identity, held.columns[c],
                            rows.cells[i]);
  }
  return absl::OkStatus();
}

void take_parts(const HeldCheckpoint& held, CheckpointRows& rows,
                CheckpointGaps& gaps) {
  const auto& columns = rows.columns;
  rows.sources = held.head.sources;
  std::vector<bool> used(held.columns.size()), filled(columns.size());
  // Different observers may have one name and the same fields: then the
  // label decides.
  for (const bool same_label : {true, false}) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t h = 0; h < held.columns.size() && !filled[i]; ++h) {
        if (used[h] || !held.columns[h].fits(columns[i]) ||
            (same_label && held.columns[h].label != columns[i].label)) {
          continue;
        }
        held.cells[h].read_into(columns[i].identity, held.columns[h],
                                rows.cells[i]);
        used[h] = filled[i] = true;
      }
    }
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!filled[i]) gaps.unfilled.push_back(i);
  }
  for (std::size_t h = 0; h < held.columns.size(); ++h) {
    // What was computed goes with a member's own state.
    const bool is_kept = held.columns[h].key.rfind(kKeptColumn, 0) == 0;
    if (!used[h] && !is_kept) gaps.unread.push_back(held.columns[h].label);
  }
}

}  // namespace

absl::Status precondition(const std::string& message) {
  return absl::FailedPreconditionError(message.c_str());
}

absl::Status invalid_argument(const std::string& message) {
  return absl::InvalidArgumentError(message.c_str());
}

namespace {

/// Passes on the body, the version of what is left of it, and the head.
absl::Status read_intact(
    std::string_view bytes, Checksum checksum,
    c10::function_ref<absl::Status(std::string_view body, Decoder& decoder,
                                   std::int64_t version, CheckpointHead& head)>
        use) {
  Envelope envelope;
  const absl::Status head =
      read_envelope(bytes, static_cast<std::int64_t>(bytes.size()), envelope);
  if (!head.ok()) return head;
  const std::string_view body = bytes.substr(sizeof(envelope));
  if (checksum == Checksum::kVerify &&
      envelope.checksum != sync::fingerprint(body)) {
    return data_loss("the checkpoint is damaged: its checksum does not match");
  }
  try {
    Decoder decoder(body);
    CheckpointHead told;
    std::int64_t version = envelope.version;
    if (version == kVersionWithHead) {
      told.spec = decoder.text();
      told.sources = Sources::read(decoder);
      version = decoder.integer();
      TORCH_CHECK_VALUE(version >= kVersion && version < kVersionWithHead,
                        "expected a version of states, got ", version);
    }
    return use(body, decoder, version, told);
  } catch (const std::exception& error) {
    return damaged(error);
  }
}

}  // namespace

absl::Status read_held(std::string_view bytes, CheckOrigin check, UseHeld use) {
  return read_intact(bytes, Checksum::kVerify,
                     [&](std::string_view body, Decoder& decoder,
                         std::int64_t version, CheckpointHead& head) {
                       const absl::Status checked = check(
                           version >= kVersionWithOrigin ? read_origin(decoder)
                                                         : CheckpointOrigin());
                       if (!checked.ok()) return checked;
                       HeldCheckpoint held = read_body(body, decoder, version);
                       held.head = std::move(head);
                       return use(held);
                     });
}

absl::StatusOr<CheckpointHead> read_checkpoint_head(std::string_view bytes,
                                                    Checksum checksum) {
  CheckpointHead found;
  if (is_old_checkpoint(bytes)) return found;
  const absl::Status status = read_intact(
      bytes, checksum,
      [&](std::string_view, Decoder&, std::int64_t, CheckpointHead& head) {
        found = std::move(head);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return found;
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
  return is_old_checkpoint(head) ? absl::OkStatus()
                                 : read_envelope(head, size, envelope);
}

absl::Status read_checkpoint(std::string_view bytes, CheckpointRows& rows,
                             CheckOrigin check, CheckpointGaps* gaps) {
  CheckpointRows filled = rows;
  CheckpointGaps found;
  const auto take = [&](const HeldCheckpoint& held) {
    if (gaps == nullptr || !held.owner.empty()) return take_rows(held, filled);
    take_parts(held, filled, found);
    return absl::OkStatus();
  };
  const absl::Status status = is_old_checkpoint(bytes)
                                  ? read_old_held(bytes, rows.columns, take)
                                  : read_held(bytes, check, take);
  if (!status.ok()) return status;
  rows = std::move(filled);
  if (gaps != nullptr) *gaps = std::move(found);
  return status;
}

}  // namespace tally::internal
