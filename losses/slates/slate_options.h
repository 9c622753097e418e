#pragma once

#include "tally/losses/common/rank_options.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/options.h"

namespace tally::losses {

/// Options of all losses of slates.
template <class Self>
struct SlateOptions : RankOptions<Self> {
  /// The target of places without an item.
  TALLY_INHERITED_ARG(Self, double, padding) = -1;

 public:
  void visit(OptionVisitor& v) {
    v("padding", padding_, "Grade that marks padding items.");
  }
};

}  // namespace tally::losses
