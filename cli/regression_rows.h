#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tally/cli/evaluate.h"
#include "tally/sync/communicator.h"

namespace tally::cli {

/// Equally spaced rows of what metrics of regression read, up to 1000, which a
/// report shows as points: the same on any number of ranks.
class RegressionRows final : public Watcher {
 public:
  struct Shown {
    at::Tensor preds;  ///< float64 [N]; undefined if there is nothing to show
    at::Tensor target;
    std::int64_t rows = 0;  ///< of which these are a part
  };

  void begin(const Job& job) override;
  void batch(std::int64_t first, const std::vector<InputValue>& values,
             const SliceKeys* keys) override;
  /// Over all ranks. Collective.
  Shown compute(const std::shared_ptr<sync::Communicator>& ranks);

 private:
  std::string failure_;
  bool is_regression_ = false;
  std::size_t preds_ = 0;  // places among the inputs
  std::size_t target_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t stride_ = 1;
  std::vector<at::Tensor> pairs_;  // float64 [2, N]
};

}  // namespace tally::cli
