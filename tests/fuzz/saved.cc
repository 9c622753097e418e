#include "tally/tests/fuzz/saved.h"

#include <ATen/ops/arange.h>

#include <algorithm>
#include <cstring>

#include "tally/metrics/collection.h"
#include "tally/sync/errors.h"
#include "tally/sync/fingerprint.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {

std::vector<std::vector<at::Tensor>> batches() {
  const at::Tensor scores =
      at::arange(12, at::kDouble).mul(5).remainder(12).div(12);
  const at::Tensor table = scores.reshape({4, 3});
  const at::Tensor binary = at::arange(12, at::kLong).remainder(2);
  const at::Tensor shares = table.div(table.sum(1, /*keepdim=*/true));
  const at::Tensor classes = at::arange(4, at::kLong).remainder(3);
  const at::Tensor counts = binary.reshape({4, 3}).add(1);
  const at::Tensor masks = at::arange(2 * 5 * 4 * 3, at::kLong)
                               .remainder(7)
                               .lt(3)
                               .reshape({2, 5, 4, 3});
  const at::Tensor points =
      at::arange(24, at::kDouble).square().reshape({2, 6, 2});
  return {{scores, binary},         {shares, classes},
          {scores, scores.add(1)},  {table, binary.reshape({4, 3})},
          {table, table.add(1)},    {scores},
          {scores, binary, binary}, {scores.narrow(0, 0, 4), table, classes},
          {binary, binary.flip(0)}, {counts},
          {masks, masks.flip(0)},   {points, points.flip(1)}};
}

std::string sealed(std::string_view body, std::int64_t version) {
  std::string checkpoint = MetricCollection().serialize();
  constexpr std::size_t kVersionAt = 8;
  checkpoint.resize(kEnvelopeBytes);
  const std::uint64_t numbers[] = {static_cast<std::uint64_t>(version),
                                   body.size(), sync::fingerprint(body)};
  std::memcpy(checkpoint.data() + kVersionAt, numbers, sizeof numbers);
  return checkpoint.append(body);
}

void use(c10::function_ref<void()> call) {
  try {
    call();
  } catch (const c10::Error& error) {
    require(sync::describe(error).find("INTERNAL ASSERT") == std::string::npos,
            "a state that makes no sense is refused");
  }
}

std::string_view take_part(std::string_view& bytes) {
  std::uint64_t size = 0;
  const std::size_t known = std::min(bytes.size(), sizeof size);
  std::memcpy(&size, bytes.data(), known);
  bytes.remove_prefix(known);
  const std::string_view part = bytes.substr(0, size);
  bytes.remove_prefix(part.size());
  return part;
}

std::string number_text(std::uint64_t number) {
  std::string text(sizeof number, '\0');
  std::memcpy(text.data(), &number, sizeof number);
  return text;
}

}  // namespace tally::fuzz
