#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tally/cli/limits.h"
#include "tally/state/codec.h"
#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {
namespace {

// A byte of a width stands for a block of 64 int64.
constexpr std::int64_t kBytesPerByte = 64 * 8;

/// A field of each kind.
struct State {
  std::int64_t count = 0;
  Number low = std::numeric_limits<double>::infinity();
  at::Tensor sums;
  Rows rows;
  void fields(Fields& f) {
    f("count", count)("low", low, Merge::kMin)("sums", sums)("rows", rows);
  }
};

Fields fields_of(State& state) {
  Fields fields;
  state.fields(fields);
  return fields;
}

std::string encoded(State& state) {
  std::string bytes;
  Encoder(bytes).fields(fields_of(state));
  return bytes;
}

/// The same bytes where tensors may stay in them.
bool same_in_place(std::string_view bytes, const std::string& state) {
  at::Tensor storage =
      at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  auto* const data = static_cast<char*>(storage.mutable_data_ptr());
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  State viewed;
  Decoder({data, bytes.size()}, storage).fields(fields_of(viewed));
  return encoded(viewed) == state;
}

}  // namespace

/// What Encoder::fields wrote, again and again.
void read_state(std::string_view bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const cli::TensorLimit limit(kBytesPerByte * size);
  try {
    Decoder decoder(bytes);
    while (decoder.remaining() > 0) {
      const std::string_view rest =
          bytes.substr(bytes.size() - decoder.remaining());
      State state;
      decoder.fields(fields_of(state));
      const std::string once = encoded(state);
      require(same_in_place(rest, once), "a view holds what a copy holds");
      State again;
      Decoder second(once);
      second.fields(fields_of(again));
      require(second.remaining() == 0, "what was written is read to its end");
      require(encoded(again) == once, "what was written is what was read");
    }
  } catch (const c10::ValueError&) {
  }
}

std::vector<std::string> state_seeds() {
  const at::Tensor table = at::arange(12, at::kDouble).reshape({3, 4});
  State plain{3, Number(-1.5), table, Rows(table.narrow(1, 0, 2))};
  State counts{100, Number(0.0), at::arange(200, at::kLong).mul(3),
               Rows(at::arange(20, at::kInt))};
  State large{1, Number(1.0), at::arange(10'000, at::kDouble), Rows()};
  State empty;
  return {encoded(plain), encoded(counts), encoded(large),
          encoded(empty) + encoded(plain)};
}

}  // namespace tally::fuzz
