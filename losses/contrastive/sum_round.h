#pragma once

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tally/losses/common/ring.h"
#include "tally/losses/common/tiles.h"

namespace tally::losses::internal {

/// A range of a block's rows.
struct RowRange {
  std::int64_t first;
  std::int64_t size;
};

/// Sends the `circulating` tensors around the ring, together with a sum for
/// each row of `own` that every rank adds to: `add(block, range, sum)` is
/// called for successive ranges of a block's rows. The sums of a range are sent
/// while those of the next one are computed. Returns the sums of this rank's
/// rows.
template <class Add>
at::Tensor sum_round(Ring& ring, const RankRows& rows, const at::Tensor& own,
                     const std::vector<CirculatingTensor*>& circulating,
                     const Add& add) {
  const bool alone = ring.steps() == 1;
  at::Tensor sums = at::zeros({rows.most(), own.size(1)}, own.options());
  at::Tensor arriving = alone ? sums : at::empty_like(sums);
  for (int step = 0; step < ring.steps(); ++step) {
    for (CirculatingTensor* tensor : circulating) tensor->depart(step);
    const int owner = ring.owner(step);
    const Block block{step, owner, rows.of(owner)};
    for_each_range(
        rows.most(), kTileColumns, [&](std::int64_t first, std::int64_t size) {
          const std::int64_t here = std::min(size, block.rows - first);
          if (here > 0) {
            add(block, RowRange{first, here}, rows_of(sums, first, here));
          }
          if (alone) return;
          ring.pass(sums.narrow(0, first, size),
                    arriving.narrow(0, first, size));
        });
    ring.wait();
    for (CirculatingTensor* tensor : circulating) tensor->arrive();
    std::swap(sums, arriving);
  }
  return rows_of(sums, 0, own.size(0));
}

}  // namespace tally::losses::internal
