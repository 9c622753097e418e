#include "tally/metrics/classification/curves/score_counts.h"

#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "tally/metrics/classification/curves/score_parts.h"
#include "tally/metrics/classification/kernels/rank_statistics.h"
#include "tally/metrics/classification/kernels/score_kernels.h"
#include "tally/metrics/classification/kernels/sorted_kernels.h"
#include "tally/metrics/common/key_sort.h"

namespace tally::internal::classification {
namespace {

// Sums are made of blocks of so many keys, whatever the number of threads.
constexpr std::int64_t kKeyBlock = std::int64_t{1} << 16;

// Counts of the part of the samples that one thread looks at.
struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool nan = false;
  ScoreOrder order;
  CodeCounts codes;
  std::vector<std::int64_t> at_least;  // by cut
};

// How many scores, which are in order, are at least as high.
template <class Score>
std::int64_t count_at_least(const Score* scores, std::int64_t size,
                            ScoreOrder order, Score cut) {
  const Score* const end = std::partition_point(
      scores, scores + size,
      [=](Score score) { return (score < cut) == order.rising; });
  return order.rising ? scores + size - end : end - scores;
}

// Of shares that follow each other.
template <class Score>
ScoreOrder order_of_all(const std::vector<Share>& shares, const Score* scores) {
  ScoreOrder order{true, true};
  for (const Share& share : shares) {
    order.rising &= share.order.rising;
    order.falling &= share.order.falling;
    if (share.begin == 0 || share.begin == share.end) continue;
    const Score* const first = scores + share.begin;
    order.rising &= first[-1] <= first[0];
    order.falling &= first[-1] >= first[0];
  }
  return order;
}

// Ascending, except for the order of equal scores.
template <class Score, class Key>
void pack_in_order(const Score* scores, const std::uint8_t* codes,
                   std::int64_t count, ScoreOrder order, std::int64_t threads,
                   Key* keys) {
  const std::int64_t blocks = (count + kKeyBlock - 1) / kKeyBlock;
  for_each_task(blocks, threads, [&](std::int64_t block) {
    const std::int64_t begin = block * kKeyBlock;
    const std::int64_t end = std::min(count, begin + kKeyBlock);
    Key* const first = keys + (order.rising ? begin : count - end);
    Key* last = first;
    Key* const behind = first + (end - begin);
    pack_samples(scores + begin, codes + begin, end - begin,
                 static_cast<const Score*>(nullptr), 0, &last, &behind);
    if (!order.rising) reverse_keys(first, last - first);
  });
}

// Keys whose scores are sorted, cut into blocks by cuts().
template <class Key>
void sort_equal_scores_of(Key* keys, const std::vector<std::int64_t>& cuts,
                          std::int64_t threads) {
  // Of a group that is a block of its own, several threads fill pieces.
  struct Piece {
    std::int64_t begin;
    std::int64_t end;
    std::size_t block;
    bool is_of_group;
  };
  std::vector<Piece> pieces;
  for (std::size_t block = 0; block + 1 < cuts.size(); ++block) {
    const std::int64_t end = cuts[block + 1];
    const bool is_of_group = end - cuts[block] > kKeyBlock &&
                             keys[cuts[block]] >> 1 == keys[end - 1] >> 1;
    std::int64_t begin = cuts[block];
    while (is_of_group && end - begin > kKeyBlock) {
      pieces.push_back({begin, begin + kKeyBlock, block, true});
      begin += kKeyBlock;
    }
    pieces.push_back({begin, end, block, is_of_group});
  }
  const auto count = static_cast<std::int64_t>(pieces.size());
  std::vector<std::int64_t> positives(count);
  for_each_task(count, threads, [&](std::int64_t i) {
    Key* const first = keys + pieces[i].begin;
    const std::int64_t size = pieces[i].end - pieces[i].begin;
    if (pieces[i].is_of_group) {
      positives[i] = count_unsorted_positives(first, size);
    } else {
      sort_equal_scores(first, size);
    }
  });
  // Where the positives of each group begin.
  std::vector<std::int64_t> split(cuts.size(), -1);
  for (std::int64_t i = 0; i < count; ++i) {
    if (!pieces[i].is_of_group) continue;
    std::int64_t& begin = split[pieces[i].block];
    if (begin < 0) begin = cuts[pieces[i].block + 1];
    begin -= positives[i];
  }
  for_each_task(count, threads, [&](std::int64_t i) {
    const Piece& piece = pieces[i];
    if (!piece.is_of_group) return;
    const Key negative = keys[piece.begin] >> 1 << 1;
    const std::int64_t middle =
        std::clamp(split[piece.block], piece.begin, piece.end);
    std::fill(keys + piece.begin, keys + middle, negative);
    std::fill(keys + middle, keys + piece.end, negative | 1);
  });
}

}  // namespace

template <class Key>
std::optional<RankedScores<Key>> RankedScores<Key>::of(
    const Score* scores, const std::uint8_t* codes, std::int64_t count) {
  const std::int64_t threads = threads_for(count);
  std::vector<Score> cuts = part_cuts(scores, count, threads);
  // The keys of negative scores have an order of their own.
  const auto zero = std::lower_bound(cuts.begin(), cuts.end(), Score{0});
  if (zero == cuts.end() || *zero != 0) cuts.insert(zero, Score{0});
  std::vector<Share> shares(threads);
  for_each_task(threads, threads, [&](std::int64_t i) {
    Share& share = shares[i];
    share.begin = count * i / threads;
    share.end = count * (i + 1) / threads;
    const std::int64_t size = share.end - share.begin;
    share.at_least.resize(cuts.size());
    share.order = order_of(scores + share.begin, size);
    if (share.order.any()) {
      for (std::size_t k = 0; k < cuts.size(); ++k) {
        share.at_least[k] =
            count_at_least(scores + share.begin, size, share.order, cuts[k]);
      }
    } else {
      share.nan = count_at_least(scores + share.begin, size, cuts.data(),
                                 static_cast<std::int64_t>(cuts.size()),
                                 share.at_least.data());
    }
    share.codes = count_codes(codes + share.begin, size);
  });
  RankedScores ranked;
  ranked.count_ = count;
  bool nan = false;
  for (const Share& share : shares) {
    if (share.codes.larger) return of_counted(scores, codes, count);
    nan |= share.nan;
    ranked.positives_ += share.codes.positives;
  }
  if (nan) return std::nullopt;

  // Where each share's samples of each part go.
  ranked.keys_ = Scratch<Key>(count);
  const auto at_least = [&](const Share& share, std::size_t part) {
    return part == 0            ? share.end - share.begin
           : part > cuts.size() ? std::int64_t{0}
                                : share.at_least[part - 1];
  };
  std::vector<std::int64_t> ends;
  std::vector<std::vector<Key*>> next(threads);
  std::vector<std::vector<Key*>> last(threads);
  std::int64_t offset = 0;
  for (std::size_t part = 0; part <= cuts.size(); ++part) {
    if (part > 0 && cuts[part - 1] == 0) ranked.below_ = offset;
    for (std::int64_t i = 0; i < threads; ++i) {
      next[i].push_back(ranked.keys_.data() + offset);
      offset += at_least(shares[i], part) - at_least(shares[i], part + 1);
      last[i].push_back(ranked.keys_.data() + offset);
    }
    ends.push_back(offset);
  }
  if (const ScoreOrder order = order_of_all(shares, scores); order.any()) {
    pack_in_order(scores, codes, count, order, threads, ranked.keys_.data());
    sort_equal_scores_of(ranked.keys_.data(), ranked.cuts(), threads);
    return ranked;
  }
  const bool one_part =
      threads == 1 && (ranked.below_ == 0 || ranked.below_ == count);
  for_each_task(threads, threads, [&](std::int64_t i) {
    const Share& share = shares[i];
    // Not beside those of other threads: they change with every vector.
    std::vector<Key*> own = next[i];
    pack_samples(scores + share.begin, codes + share.begin,
                 share.end - share.begin, cuts.data(),
                 one_part ? 0 : static_cast<std::int64_t>(cuts.size()),
                 own.data(), last[i].data());
  });
  for_each_task(static_cast<std::int64_t>(ends.size()), threads,
                [&](std::int64_t part) {
                  const std::int64_t begin = part == 0 ? 0 : ends[part - 1];
                  sort_keys(ranked.keys_.data() + begin, ends[part] - begin);
                });
  return ranked;
}

template <class Key>
std::optional<RankedScores<Key>> RankedScores<Key>::of_counted(
    const Score* scores, const std::uint8_t* codes, std::int64_t count) {
  std::vector<Score> own_scores;
  std::vector<std::uint8_t> own_codes;
  for (std::int64_t i = 0; i < count; ++i) {
    if (codes[i] > 1) continue;
    own_scores.push_back(scores[i]);
    own_codes.push_back(codes[i]);
  }
  return of(own_scores.data(), own_codes.data(),
            static_cast<std::int64_t>(own_codes.size()));
}

template <class Key>
std::vector<std::int64_t> RankedScores<Key>::cuts() const {
  std::vector<std::int64_t> cuts = {0};
  for (std::int64_t i = kKeyBlock; i < count_; i += kKeyBlock) {
    // Behind the group of the key before.
    const Key* const here = keys_.data() + i - 1;
    const Key key = *here >> 1;
    const bool is_below = i - 1 < below_;
    const Key* const end =
        std::partition_point(here, keys_.data() + (is_below ? below_ : count_),
                             [=](Key other) { return other >> 1 == key; });
    // A large group is a block of its own.
    if (end - here > kKeyBlock) {
      const Key* const begin = std::partition_point(
          keys_.data() + std::max(cuts.back(), is_below ? 0 : below_), here,
          [=](Key other) { return other >> 1 != key; });
      cuts.push_back(begin - keys_.data());
    }
    cuts.push_back(end - keys_.data());
    i = std::max(i, (cuts.back() - 1) / kKeyBlock * kKeyBlock);
  }
  cuts.insert(cuts.end(), {below_, count_});
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

template <class Key>
double RankedScores<Key>::pairs_in_order() const {
  const std::vector<std::int64_t> cuts = this->cuts();
  const auto blocks = static_cast<std::int64_t>(cuts.size()) - 1;
  std::vector<PairsInOrder> pairs(blocks);
  for_each_task(blocks, threads_for(count_), [&](std::int64_t block) {
    pairs[block] = count_pairs_in_order(keys_.data() + cuts[block],
                                        cuts[block + 1] - cuts[block]);
  });
  WideCount twice = 0;
  std::int64_t negatives = 0;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t positives = pairs[block].positives;
    twice += pairs[block].twice + WideCount{2} *
                                      static_cast<std::uint64_t>(positives) *
                                      static_cast<std::uint64_t>(negatives);
    negatives += cuts[block + 1] - cuts[block] - positives;
  }
  return static_cast<double>(twice) / 2;
}

template <class Key>
double RankedScores<Key>::sum_of_precisions() const {
  const std::vector<std::int64_t> cuts = this->cuts();
  const auto blocks = static_cast<std::int64_t>(cuts.size()) - 1;
  const std::int64_t threads = threads_for(count_);
  // Of each block, then of it and all above.
  std::vector<std::int64_t> positives(blocks);
  for_each_task(blocks, threads, [&](std::int64_t block) {
    positives[block] = count_positives(keys_.data() + cuts[block],
                                       cuts[block + 1] - cuts[block]);
  });
  std::int64_t above = 0;
  for (std::int64_t block = blocks; block-- > 0;) {
    positives[block] = above += positives[block];
  }
  std::vector<double> sums(blocks);
  for_each_task(blocks, threads, [&](std::int64_t block) {
    sums[block] = sum_precisions(keys_.data() + cuts[block],
                                 cuts[block + 1] - cuts[block],
                                 positives[block], count_ - cuts[block]);
  });
  double sum = 0;
  for (std::int64_t block = blocks; block-- > 0;) sum += sums[block];
  return sum;
}

template class RankedScores<std::uint32_t>;
template class RankedScores<std::uint64_t>;

std::optional<DeviceRankedScores> DeviceRankedScores::of(
    const at::Tensor& scores, const at::Tensor& codes) {
  const at::Tensor kept = codes.ne(2);
  const at::Tensor positive = codes.masked_select(kept);
  // NaN sorts as the highest.
  const auto [sorted, order] =
      scores.masked_select(kept).sort(/*dim=*/0, /*descending=*/true);
  const std::int64_t count = sorted.numel();
  if (count > 0 && sorted.select(0, 0).isnan().item().toBool()) {
    return std::nullopt;
  }
  at::Tensor last = at::ones({count}, positive.options());
  if (count > 1) {
    last.narrow(0, 0, count - 1)
        .copy_(
            sorted.narrow(0, 1, count - 1).ne(sorted.narrow(0, 0, count - 1)));
  }
  DeviceRankedScores ranked;
  ranked.scores_ = sorted.to(at::kDouble).to(at::kCPU);
  ranked.marks_ = positive.index_select(0, order).add_(last, 2).to(at::kCPU);
  ranked.positives_ = positive.sum().item().toLong();
  return ranked;
}

std::optional<BucketedScores> BucketedScores::of(at::Tensor histogram,
                                                 std::int64_t curve) {
  const std::int64_t columns = histogram.size(-1);
  BucketedScores bucketed;
  bucketed.offset_ = curve * 2 * columns;
  bucketed.buckets_ = columns - 1;
  bucketed.histogram_ = std::move(histogram);
  const std::int64_t* const negatives = bucketed.counts();
  const std::int64_t* const positives = negatives + columns;
  if (negatives[columns - 1] != 0 || positives[columns - 1] != 0) {
    return std::nullopt;
  }
  for (std::int64_t i = 0; i < bucketed.buckets_; ++i) {
    bucketed.negatives_ += negatives[i];
    bucketed.positives_ += positives[i];
  }
  return bucketed;
}

void check_state(bool fits) {
  TORCH_CHECK_VALUE(fits, "the state's fields do not fit together");
}

}  // namespace tally::internal::classification
