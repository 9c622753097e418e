#pragma once

#include <memory>

#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/options.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options of all losses of slates.
template <class Self>
struct SlateOptions {
  /// The target of places without an item. Default: -1.
  TALLY_INHERITED_ARG(Self, double, padding) = -1;
  /// The ranks. Default: sync::default_communicator().
  TALLY_INHERITED_ARG(Self, std::shared_ptr<sync::Communicator>,
                      communicator) = nullptr;
  /// How long a step may wait for other ranks. Default: the communicator's.
  TALLY_INHERITED_ARG(Self, sync::Timeout, timeout) = {};

 public:
  void visit(OptionVisitor& v) {
    v("padding", padding_, "Grade of an item that is none.");
  }
};

}  // namespace tally::losses
