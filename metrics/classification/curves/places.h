#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

/// Sinks for the scores that observers of curves read. Both support
///     sink.add(places, count, first_curve);  // one of each curve in turn
///     sink.add_one(curve, place);
///     sink.make_positive(curve, place);      // of the row added last
/// with places as in bin_kernels.h.
namespace tally::internal::classification {

class HistogramSink {
 public:
  /// The histogram is [curves, 2, columns]. With `spread` and a single curve,
  /// several tables are used, so that an addition need not wait for the
  /// previous one; flush() adds them.
  HistogramSink(std::int64_t* histogram, std::int64_t curves,
                std::int64_t columns, bool spread)
      : histogram_(histogram),
        stride_(2 * columns),
        curves_(curves),
        columns_(columns),
        spread_(spread && curves == 1 ? 3 * stride_ : 0) {}

  void add(const std::uint32_t* places, std::int64_t count,
           std::int64_t first_curve) {
    if (!spread_.empty()) return add_spread(places, count);
    if (curves_ == 1) return add_run(places, count, histogram_, 0);
    std::int64_t curve = first_curve;
    while (count > 0) {
      const std::int64_t run = std::min(count, curves_ - curve);
      add_run(places, run, histogram_ + curve * stride_, stride_);
      places += run;
      count -= run;
      curve = 0;
    }
  }
  void add_one(std::int64_t curve, std::int64_t place) {
    ++histogram_[curve * stride_ + place];
  }
  void make_positive(std::int64_t curve, std::int64_t place) {
    --histogram_[curve * stride_ + place];
    ++histogram_[curve * stride_ + place + columns_];
  }
  void flush() {
    for (std::size_t i = 0; i < spread_.size(); ++i) {
      histogram_[i % stride_] += spread_[i];
      spread_[i] = 0;
    }
  }

 private:
  // The first place is of these bins, and each next one of those `stride` on.
  static void add_run(const std::uint32_t* places, std::int64_t count,
                      std::int64_t* bins, std::int64_t stride) {
    for (std::int64_t i = 0; i < count; ++i, bins += stride) ++bins[places[i]];
  }
  void add_spread(const std::uint32_t* places, std::int64_t count) {
    std::int64_t* const tables[] = {histogram_, spread_.data(),
                                    spread_.data() + stride_,
                                    spread_.data() + 2 * stride_};
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      ++tables[0][places[i]];
      ++tables[1][places[i + 1]];
      ++tables[2][places[i + 2]];
      ++tables[3][places[i + 3]];
    }
    for (; i < count; ++i) ++histogram_[places[i]];
  }

  std::int64_t* histogram_;
  std::int64_t stride_;
  std::int64_t curves_;
  std::int64_t columns_;
  std::vector<std::int64_t> spread_;
};

/// Stores places in order (see CurveState::places).
class PlaceSink {
 public:
  PlaceSink(std::int32_t* next, std::int64_t curves, std::int64_t columns)
      : next_(next), curves_(curves), columns_(columns) {}

  void add(const std::uint32_t* places, std::int64_t count,
           std::int64_t first_curve) {
    std::int64_t curve = first_curve;
    for (std::int64_t i = 0; i < count; ++i) {
      add_one(curve, places[i]);
      if (++curve == curves_) curve = 0;
    }
  }
  void add_one(std::int64_t curve, std::int64_t place) {
    *next_++ = static_cast<std::int32_t>(2 * curve * columns_ + place);
  }
  void make_positive(std::int64_t curve, std::int64_t) {
    next_[curve - curves_] += static_cast<std::int32_t>(columns_);
  }
  std::int32_t* end() const { return next_; }

 private:
  std::int32_t* next_;
  std::int64_t curves_;
  std::int64_t columns_;
};

/// The same two for samples with weights: sink.add(curve, place, weight).
class WeightSumSink {
 public:
  WeightSumSink(double* histogram, std::int64_t columns)
      : histogram_(histogram), columns_(columns) {}

  void add(std::int64_t curve, std::int64_t place, double weight) {
    histogram_[2 * curve * columns_ + place] += weight;
  }

 private:
  double* histogram_;
  std::int64_t columns_;
};

class WeightedPlaceSink {
 public:
  WeightedPlaceSink(std::int32_t* next, double* next_weight,
                    std::int64_t columns)
      : next_(next), next_weight_(next_weight), columns_(columns) {}

  void add(std::int64_t curve, std::int64_t place, double weight) {
    *next_++ = static_cast<std::int32_t>(2 * curve * columns_ + place);
    *next_weight_++ = weight;
  }
  std::int32_t* end() const { return next_; }

 private:
  std::int32_t* next_;
  double* next_weight_;
  std::int64_t columns_;
};

}  // namespace tally::internal::classification
