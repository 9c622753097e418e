#include "tally/metrics/checkpoint/rank_places.h"

#include <algorithm>
#include <utility>

#include "tally/state/codec.h"

namespace tally::internal {

std::string encode_place(const CheckpointRows& rows) {
  std::string note;
  Encoder encoder(note);
  if (rows.rules != nullptr && rows.rules->collected) return note;
  encoder.integer(static_cast<std::int64_t>(rows.rows()));
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    encoder.text(rows.rules != nullptr ? rows.keys[r] : "");
    encoder.text(rows.rules != nullptr ? rows.values[r] : "");
    for (std::size_t c = 0; c < rows.columns.size(); ++c) {
      const StoredCell& cell = rows.cell(r, c);
      encoder.integer(cell.count + cell.index_offset);
    }
  }
  return note;
}

absl::Status go_on_after(const std::vector<std::string>& notes,
                         CheckpointRows& rows) {
  if (rows.rules != nullptr && rows.rules->collected) return absl::OkStatus();
  std::vector<std::int64_t> indexes(rows.cells.size());
  for (const std::string& note : notes) {
    if (note.empty()) continue;
    Decoder decoder(note);
    const auto count = static_cast<std::size_t>(decoder.integer());
    for (std::size_t r = 0; r < count; ++r) {
      std::string key = decoder.text();
      std::string value = decoder.text();
      if (r == rows.rows()) {
        rows.add_row(std::move(key), rows.columns.size());
        rows.values.back() = std::move(value);
      } else if (rows.rules != nullptr &&
                 (rows.keys[r] != key || rows.values[r] != value)) {
        return precondition("ranks have different values of " +
                            rows.rules->name(key));
      }
      indexes.resize(rows.cells.size());
      for (std::size_t c = 0; c < rows.columns.size(); ++c) {
        std::int64_t& index = indexes[r * rows.columns.size() + c];
        index = std::max(index, decoder.integer());
      }
    }
  }
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    rows.cells[i].index_offset = indexes[i] - rows.cells[i].count;
  }
  return absl::OkStatus();
}

}  // namespace tally::internal
