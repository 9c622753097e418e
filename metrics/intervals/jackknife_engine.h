#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tally/metrics/intervals/interval_engine.h"

namespace tally::internal::intervals {

/// For any metric: a state for each block of rows.
class JackknifeEngine final : public IntervalEngine {
 public:
  using IntervalEngine::IntervalEngine;

  IntervalMethod method() const override { return IntervalMethod::kJackknife; }
  bool uses_ids() const override { return true; }
  AnyState identity() const override;
  StateKey key() const override;
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>& ids) const override;
  Intervals intervals(const AnyState& state, std::int64_t n) const override;
  std::optional<DrawnResult> draw(const AnyState& state,
                                  std::int64_t n) const override;

 private:
  /// The value of all blocks, and those without each.
  DrawnResult values_of(const AnyState& state) const;
};

}  // namespace tally::internal::intervals
