#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "tally/metrics/checkpoint/held_checkpoint.h"
#include "tally/state/codec.h"
#include "tally/sync/errors.h"
#include "tally/sync/fingerprint.h"

namespace tally::internal {
namespace {

constexpr std::string_view kTrackerMark = "TALLYTRK ";
// Of a slice: far more than there can be.
constexpr std::int64_t kMostRowsOfSlice = std::int64_t{1} << 53;
constexpr std::string_view kEnvelopeMark = "TALLYST\n";

absl::Status old_data_loss(const std::string& why) {
  const std::string message = "the checkpoint is damaged: " + why;
  return absl::DataLossError(message.c_str());
}

absl::Status any(const CheckpointOrigin&) { return absl::OkStatus(); }

/// The texts of a table of keys, of which only the bytes are known.
struct SliceTable {
  std::int64_t columns = 0;
  at::Tensor keys;   // bytes of one after the other
  at::Tensor sizes;  // of keys in bytes
  at::Tensor rows;
  void fields(Fields& f) {
    f("columns", columns)("keys", keys)("sizes", sizes)("rows", rows);
  }
};

void check_table(const SliceTable& table) {
  for (const at::Tensor* numbers : {&table.sizes, &table.rows}) {
    TORCH_CHECK_VALUE(numbers->defined() && numbers->dim() == 1 &&
                          numbers->scalar_type() == at::kLong &&
                          numbers->size(0) == table.sizes.size(0),
                      "expected numbers of slices");
  }
  TORCH_CHECK_VALUE(table.keys.defined() && table.keys.dim() == 1 &&
                        table.keys.scalar_type() == at::kByte,
                    "expected bytes of keys");
}

// The table and the states are two envelopes, behind the length of the first.
absl::Status read_slices(std::string_view bytes,
                         const std::vector<StateColumn>& columns, UseHeld use) {
  Decoder decoder(bytes);
  const std::int64_t length = decoder.integer();
  TORCH_CHECK_VALUE(
      length >= 0 && static_cast<std::uint64_t>(length) <= decoder.remaining(),
      "expected at most ", decoder.remaining(), " bytes of keys, got ", length);
  bytes.remove_prefix(sizeof length);
  CheckpointRows head;
  head.columns = {{"SlicedMetric", "SliceTable", AnyState::of(SliceTable())}};
  head.cells.resize(1);
  const auto size = static_cast<std::size_t>(length);
  const absl::Status status = read_checkpoint(bytes.substr(0, size), head, any);
  if (!status.ok()) return status;
  const auto& table = head.cells[0].state.get<SliceTable>();
  check_table(table);
  return read_held(bytes.substr(size), any, [&](const HeldCheckpoint& states) {
    HeldCheckpoint held;
    held.owner = "SlicedMetric";
    const auto slices = static_cast<std::size_t>(table.sizes.numel());
    const std::size_t width = slices == 0 ? 0 : states.columns.size() / slices;
    TORCH_CHECK_VALUE(width * slices == states.columns.size(),
                      "expected the same states of ", slices, " slices");
    // Members that share a state, or derive theirs from another's, had more.
    std::vector<std::size_t> taken;
    for (const StateColumn& column : columns) {
      held.columns.push_back(
          {column.label, column.key.text(), column.identity.fields().schema()});
      for (std::size_t c = 0; c < width; ++c) {
        if (!states.columns[c].fits(column)) continue;
        taken.push_back(c);
        break;
      }
    }
    if (slices > 0 && taken.size() != columns.size()) {
      held.columns.assign(
          states.columns.begin(),
          states.columns.begin() + static_cast<std::ptrdiff_t>(width));
      taken.clear();
    }
    const std::string_view keys(
        static_cast<const char*>(table.keys.contiguous().data_ptr()),
        static_cast<std::size_t>(table.keys.numel()));
    std::size_t next = 0;
    for (std::size_t r = 0; r < slices; ++r) {
      const auto place = static_cast<std::int64_t>(r);
      const auto key_size = table.sizes[place].item<std::int64_t>();
      const auto rows = table.rows[place].item<std::int64_t>();
      TORCH_CHECK_VALUE(
          key_size >= 0 && rows >= 0 && rows <= kMostRowsOfSlice &&
              static_cast<std::uint64_t>(key_size) <= keys.size() - next,
          "expected a key and its rows");
      held.keys.emplace_back(
          keys.substr(next, static_cast<std::size_t>(key_size)));
      TORCH_CHECK_VALUE(r == 0 || held.keys[r - 1] < held.keys[r],
                        "expected keys in their order");
      held.values.emplace_back();
      next += static_cast<std::size_t>(key_size);
      for (const std::size_t c : taken) {
        held.cells.push_back(states.cells[r * width + c]);
        held.cells.back().count = rows;
      }
    }
    held.update_count = slices == 0 ? 0 : 1;
    return use(held);
  });
}

bool are_equal(const HeldCheckpoint& a, const HeldCheckpoint& b) {
  return std::equal(
      a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
      [](const HeldCheckpoint::Column& x, const HeldCheckpoint::Column& y) {
        return x.label == y.label && x.key == y.key && x.schema == y.schema;
      });
}

// For each step the checkpoint of a collection, and since the second format the
// values of a finished one instead of its states.
absl::Status read_steps(std::string_view bytes,
                        const std::vector<StateColumn>& columns, UseHeld use) {
  Decoder decoder(bytes);
  const std::string mark = decoder.text();
  const bool has_values = mark == std::string(kTrackerMark) + "2";
  if (!has_values && mark != std::string(kTrackerMark) + "1") {
    return old_data_loss("it is of an unknown version");
  }
  const auto rest = [&] {
    return bytes.substr(bytes.size() - decoder.remaining());
  };
  const std::int64_t checksum = has_values ? decoder.integer() : 0;
  if (has_values &&
      checksum != static_cast<std::int64_t>(sync::fingerprint(rest()))) {
    return old_data_loss("its checksum does not match");
  }
  HeldCheckpoint held;
  held.owner = "MetricTracker";
  for (const StateColumn& column : columns) {
    held.columns.push_back(
        {column.label, column.key, column.identity.fields().schema()});
  }
  const std::int64_t steps = decoder.integer();
  TORCH_CHECK_VALUE(steps >= 0, "expected a number of steps, got ", steps);
  for (std::int64_t step = 0; step < steps; ++step) {
    // Its bytes stay where they are; a text is a copy.
    const std::int64_t length = Decoder(rest()).integer();
    const std::string_view own = rest().substr(sizeof length);
    decoder.text();
    const absl::Status status = read_held(
        own.substr(0, static_cast<std::size_t>(length)), any,
        [&](const HeldCheckpoint& metrics) {
          TORCH_CHECK_VALUE(step == 0 || are_equal(metrics, held),
                            "expected the same metrics of every step");
          held.columns = metrics.columns;
          held.cells.insert(held.cells.end(), metrics.cells.begin(),
                            metrics.cells.end());
          held.update_count +=
              metrics.cells.empty() ? 0 : metrics.cells[0].count;
          return absl::OkStatus();
        });
    if (!status.ok()) return status;
    held.keys.push_back(number_key(step));
    held.values.emplace_back();
    if (!has_values) continue;
    const std::string_view before = rest();
    std::int64_t values = decoder.integer();
    if (values == 0) continue;
    for (; values > 0; --values) {
      decoder.text();
      decoder.tensor();
    }
    held.values.back() =
        std::string(before.substr(0, before.size() - decoder.remaining()));
  }
  TORCH_CHECK_VALUE(decoder.remaining() == 0, "it is too long");
  return use(held);
}

}  // namespace

bool is_old_checkpoint(std::string_view head) {
  if (head.size() < 2 * sizeof(std::int64_t)) return false;
  const std::string_view behind = head.substr(sizeof(std::int64_t));
  return behind.substr(0, kEnvelopeMark.size()) == kEnvelopeMark ||
         behind.substr(0, kTrackerMark.size()) == kTrackerMark;
}

absl::Status read_old_held(std::string_view bytes,
                           const std::vector<StateColumn>& columns,
                           UseHeld use) {
  try {
    const bool is_tracker =
        bytes.substr(sizeof(std::int64_t), kTrackerMark.size()) == kTrackerMark;
    return is_tracker ? read_steps(bytes, columns, use)
                      : read_slices(bytes, columns, use);
  } catch (const std::exception& error) {
    return old_data_loss(sync::describe(error));
  }
}

}  // namespace tally::internal
