#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "tally/metrics/checkpoint/checkpoint.h"
#include "tally/metrics/checkpoint/envelope.h"
#include "tally/state/codec.h"
#include "tally/sync/fingerprint.h"

namespace tally::internal {
namespace {

// More than most checkpoints have besides their states.
constexpr std::size_t kHeadBytes = 4096;

void write_origin(const CheckpointOrigin& origin, Encoder& encoder) {
  encoder.integer(static_cast<std::int64_t>(origin.kind));
  encoder.integer(origin.rank);
  encoder.integer(origin.ranks);
  encoder.integer(origin.set);
  encoder.integer(origin.turn);
}

}  // namespace

std::string write_checkpoint(const CheckpointRows& rows,
                             const CheckpointOrigin& origin,
                             const std::string* spec) {
  const bool has_keys = rows.rules != nullptr;
  const bool has_origin =
      has_keys || origin.kind != CheckpointOrigin::Kind::kUnknown ||
      std::any_of(rows.cells.begin(), rows.cells.end(),
                  [](const auto& cell) { return cell.index_offset != 0; });
  const std::int64_t version = has_keys     ? kVersionWithKeys
                               : has_origin ? kVersionWithOrigin
                                            : kVersion;
  std::string bytes(sizeof(Envelope), '\0');
  // A second pass over the bytes takes as long as the first.
  sync::Fingerprint checksum;
  std::size_t hashed = bytes.size();
  const auto hash = [&](std::size_t end) {
    checksum.add(std::string_view(bytes).substr(hashed, end - hashed));
    hashed = end;
  };
  Encoder encoder(bytes, hash);
  std::size_t most = kHeadBytes;
  for (const StoredCell& cell : rows.cells) {
    if (cell.state.defined()) most += encoded_bound(cell.state.fields());
  }
  bytes.reserve(most);
  if (spec != nullptr) {
    encoder.text(*spec);
    rows.sources.write(encoder);
    encoder.integer(version);
  }
  const auto write_column = [&](const StateColumn& column) {
    encoder.text(column.label);
    encoder.text(column.key.text());
    encoder.text(column.identity.fields().schema());
  };
  const auto write_cell = [&](const StoredCell& cell) {
    encoder.integer(cell.count);
    if (has_origin) encoder.integer(cell.index_offset);
    if (has_keys) encoder.integer(cell.state.defined() ? 1 : 0);
    if (cell.state.defined()) encoder.fields(cell.state.fields());
  };
  if (has_origin) write_origin(origin, encoder);
  if (has_keys) {
    encoder.text(rows.rules->owner);
    encoder.integer(rows.update_count);
  }
  encoder.integer(static_cast<std::int64_t>(rows.columns.size()));
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    write_column(rows.columns[c]);
    if (!has_keys) write_cell(rows.cells[c]);
  }
  if (has_keys) encoder.integer(static_cast<std::int64_t>(rows.keys.size()));
  for (std::size_t r = 0; r < rows.keys.size(); ++r) {
    encoder.text(rows.keys[r]);
    encoder.text(rows.values[r]);
    for (std::size_t c = 0; c < rows.columns.size(); ++c) {
      write_cell(rows.cell(r, c));
    }
  }
  hash(bytes.size());
  Envelope envelope{};
  std::memcpy(envelope.magic, kMagic, sizeof(kMagic));
  envelope.version = spec != nullptr ? kVersionWithHead : version;
  envelope.length = static_cast<std::int64_t>(bytes.size() - sizeof(Envelope));
  envelope.checksum = checksum.value();
  std::memcpy(bytes.data(), &envelope, sizeof(envelope));
  return bytes;
}

}  // namespace tally::internal
