#include "tally/metrics/classification/kernels/count_kernels.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <vector>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/classification/kernels/count_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

bool CountPlain(const float* preds, const std::int64_t* targets,
                std::int64_t size, float threshold, bool checks_range,
                PlainCounts& counts) {
  const hn::ScalableTag<std::int64_t> di;
  const hn::Rebind<double, decltype(di)> dd;
  const hn::Rebind<float, decltype(di)> df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(di));
  const auto limit = hn::Set(dd, static_cast<double>(threshold));
  const double infinity = std::numeric_limits<double>::infinity();
  const auto low = hn::Set(dd, checks_range ? 0.0 : -infinity);
  const auto high = hn::Set(dd, checks_range ? 1.0 : infinity);
  auto tp = hn::Zero(di);
  auto predicted = hn::Zero(di);
  auto target = hn::Zero(di);
  auto bits = hn::Zero(di);
  auto fine = hn::Eq(hn::Zero(dd), hn::Zero(dd));
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto score = hn::PromoteTo(dd, hn::LoadU(df, preds + i));
    const auto truth = hn::LoadU(di, targets + i);
    // -1 where the prediction is 1.
    const auto positive =
        hn::BitCast(di, hn::VecFromMask(dd, hn::Gt(score, limit)));
    predicted = hn::Sub(predicted, positive);
    tp = hn::Add(tp, hn::And(positive, truth));
    target = hn::Add(target, truth);
    bits = hn::Or(bits, truth);
    // Not of NaN.
    fine = hn::And(fine, hn::And(hn::Ge(score, low), hn::Le(score, high)));
  }
  PlainCounts own{hn::GetLane(hn::SumOfLanes(di, tp)),
                  hn::GetLane(hn::SumOfLanes(di, predicted)),
                  hn::GetLane(hn::SumOfLanes(di, target))};
  bool ok =
      hn::AllTrue(dd, fine) &&
      hn::AllTrue(di, hn::Eq(hn::AndNot(hn::Set(di, 1), bits), hn::Zero(di)));
  for (; i < size; ++i) {
    const float score = preds[i];
    const std::int64_t truth = targets[i];
    ok &= truth == 0 || truth == 1;
    ok &= checks_range ? score >= 0 && score <= 1 : score == score;
    const std::int64_t positive = score > threshold;
    own.tp += positive & truth;
    own.predicted += positive;
    own.target += truth & 1;
  }
  if (!ok) return false;
  counts.tp += own.tp;
  counts.predicted += own.predicted;
  counts.target += own.target;
  return true;
}

// REQUIRES: rows that CountPlain would count.
void CountColumns(const float* preds, const std::int64_t* targets,
                  std::int64_t rows, std::int64_t labels, float threshold,
                  std::int64_t* counts) {
  const hn::ScalableTag<std::int64_t> di;
  const hn::Rebind<double, decltype(di)> dd;
  const hn::Rebind<float, decltype(di)> df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(di));
  const auto limit = hn::Set(dd, static_cast<double>(threshold));
  std::int64_t l = 0;
  for (; l + lanes <= labels; l += lanes) {
    auto tp = hn::LoadU(di, counts + l);
    auto predicted = hn::LoadU(di, counts + labels + l);
    auto target = hn::LoadU(di, counts + 2 * labels + l);
    for (std::int64_t i = l; i < rows * labels; i += labels) {
      const auto score = hn::PromoteTo(dd, hn::LoadU(df, preds + i));
      const auto truth = hn::LoadU(di, targets + i);
      const auto positive =
          hn::BitCast(di, hn::VecFromMask(dd, hn::Gt(score, limit)));
      predicted = hn::Sub(predicted, positive);
      tp = hn::Add(tp, hn::And(positive, truth));
      target = hn::Add(target, truth);
    }
    hn::StoreU(tp, di, counts + l);
    hn::StoreU(predicted, di, counts + labels + l);
    hn::StoreU(target, di, counts + 2 * labels + l);
  }
  for (; l < labels; ++l) {
    for (std::int64_t i = l; i < rows * labels; i += labels) {
      const std::int64_t positive = preds[i] > threshold;
      counts[l] += positive & targets[i];
      counts[labels + l] += positive;
      counts[2 * labels + l] += targets[i];
    }
  }
}

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::classification {

HWY_EXPORT(CountPlain);
HWY_EXPORT(CountColumns);

namespace {

// Elements that are worth a thread.
constexpr std::int64_t kGrain = std::int64_t{1} << 16;
// Elements of which one that is refused sends all to the slow loop.
constexpr std::int64_t kBlock = std::int64_t{1} << 16;
// Elements that fit into the cache next to the core.
constexpr std::int64_t kCached = std::int64_t{1} << 12;

}  // namespace

bool count_plain_run(const float* preds, const std::int64_t* targets,
                     std::int64_t size, float threshold, bool checks_range,
                     PlainCounts& counts) {
  const auto kernel = [=](const float* p, const std::int64_t* t, std::int64_t n,
                          PlainCounts& own) {
    return HWY_DYNAMIC_DISPATCH(CountPlain)(p, t, n, threshold, checks_range,
                                            own);
  };
  if (size <= kBlock) {
    return kernel(preds, targets, size, counts);
  }
  std::atomic<bool> fine{true};
  std::atomic<std::int64_t> tp{0}, predicted{0}, target{0};
  at::parallel_for(0, size, kGrain, [&](std::int64_t begin, std::int64_t end) {
    PlainCounts own;
    for (std::int64_t i = begin; i < end && fine; i += kBlock) {
      const std::int64_t count = std::min(kBlock, end - i);
      if (!kernel(preds + i, targets + i, count, own)) {
        fine = false;
      }
    }
    tp += own.tp;
    predicted += own.predicted;
    target += own.target;
  });
  if (!fine) return false;
  counts.tp += tp;
  counts.predicted += predicted;
  counts.target += target;
  return true;
}

std::int64_t count_plain_rows(const float* preds, const std::int64_t* targets,
                              std::int64_t rows, std::int64_t labels,
                              float threshold, bool checks_range,
                              std::int64_t* counts) {
  // So many rows stay in the cache between the two passes.
  const std::int64_t step = std::max<std::int64_t>(kCached / labels, 1);
  const auto count_part = [=](std::int64_t begin, std::int64_t end,
                              std::int64_t* own) {
    for (std::int64_t row = begin; row < end; row += step) {
      const std::int64_t some = std::min(step, end - row);
      const float* const own_preds = preds + row * labels;
      const std::int64_t* const own_targets = targets + row * labels;
      PlainCounts unused;
      if (!HWY_DYNAMIC_DISPATCH(CountPlain)(own_preds, own_targets,
                                            some * labels, threshold,
                                            checks_range, unused)) {
        return row;
      }
      HWY_DYNAMIC_DISPATCH(CountColumns)
      (own_preds, own_targets, some, labels, threshold, own);
    }
    return end;
  };
  const std::int64_t parts =
      std::min<std::int64_t>(at::get_num_threads(), rows * labels / kGrain);
  if (parts <= 1 || at::in_parallel_region()) {
    return count_part(0, rows, counts);
  }
  const std::int64_t size = (rows + parts - 1) / parts;
  std::vector<std::int64_t> ends(parts);
  std::vector<std::int64_t> part_counts(parts * 3 * labels);
  at::parallel_for(0, parts, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      ends[part] = count_part(std::min(part * size, rows),
                              std::min((part + 1) * size, rows),
                              part_counts.data() + part * 3 * labels);
    }
  });
  // All before the first row that was not counted.
  for (std::int64_t part = 0; part < parts; ++part) {
    const auto* const own = part_counts.data() + part * 3 * labels;
    for (std::int64_t i = 0; i < 3 * labels; ++i) counts[i] += own[i];
    if (ends[part] < std::min((part + 1) * size, rows)) return ends[part];
  }
  return rows;
}

}  // namespace tally::internal::classification
#endif  // HWY_ONCE
