#pragma once

#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "tally/metrics/inputs.h"
#include "tally/metrics/metric.h"

namespace tally::internal {

/// Whether the value depends on the batches that rows come in, or their order.
bool depends_on_batches(const Metric& metric);

/// The inputs of a batch, divided by a code of each row.
class SortedRows {
 public:
  /// Codes are below `count`. Inputs, and `codes` while used, must outlive it.
  SortedRows(c10::ArrayRef<std::int32_t> codes, std::size_t count,
             Inputs inputs);

  std::int64_t rows(std::size_t code) const {
    return ends_[code + 1] - ends_[code];
  }
  /// Calls `use` with the inputs of the rows with a code, and their number.
  /// Inputs without rows are the same for all.
  template <class Use>
  void use(std::size_t code, const Use& use) const {
    const std::int64_t begin = ends_[code];
    const std::int64_t rows = this->rows(code);
    std::vector<InputValue> own;
    std::vector<InputRef> refs;
    own.reserve(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].rows() < 0) {
        refs.push_back(inputs_[i]);
        continue;
      }
      own.push_back(
          tensors_[i].defined()
              ? InputValue::of(tensors_[i].narrow(0, begin, rows))
              : inputs_[i].select(c10::ArrayRef<std::int64_t>(places_).slice(
                    static_cast<std::size_t>(begin),
                    static_cast<std::size_t>(rows))));
      refs.push_back(own.back().ref());
    }
    use(Inputs(refs), rows);
  }

 private:
  void find_places(c10::ArrayRef<std::int32_t> codes);

  Inputs inputs_;
  std::vector<std::int64_t> ends_;    // of codes, among rows by code
  std::vector<std::int64_t> places_;  // of rows, by code; where it is needed
  std::vector<at::Tensor> tensors_;   // sorted; undefined for other inputs
};

}  // namespace tally::internal
