#pragma once

#include <c10/util/StringUtil.h>
#include <torch/nn/cloneable.h>

#include <ostream>
#include <utility>

#include "tally/losses/common/loss_summary.h"
#include "tally/metrics/options.h"
#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// A module described by its options: `Self` has kName, kSummary, a constructor
/// that checks them, and forward().
template <class Self, class Options>
class LossModule : public torch::nn::Cloneable<Self> {
 public:
  const Options& options() const { return options_; }
  void reset() override {}
  void pretty_print(std::ostream& stream) const override {
    stream << "tally::losses::" << Self::kName << '(' << options_repr(options_)
           << ')';
  }

 protected:
  explicit LossModule(Options options) : options_(std::move(options)) {
    check_options(options_, Self::kName);
  }

  Options options_;
};

/// The call of a loss with these options, which all ranks have alike. Accounts
/// say `name`.
template <class Options>
sync::Call call_of(const char* name, const Options& options) {
  sync::Call call(c10::str(name, '(', options_repr(options), ')'),
                  options.communicator(), options.timeout());
  call.asker = name;
  return call;
}

}  // namespace tally::losses::internal
