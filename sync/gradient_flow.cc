#include "tally/sync/gradient_flow.h"

namespace tally::sync {

const char* to_string(GradientFlow flow) noexcept {
  switch (flow) {
    case GradientFlow::kDetached:
      return "kDetached";
    case GradientFlow::kLocal:
      return "kLocal";
    case GradientFlow::kReplicated:
      return "kReplicated";
    case GradientFlow::kAllRanks:
      return "kAllRanks";
  }
  return "unknown";
}

}  // namespace tally::sync
