#include "tally/sync/reduction.h"

#include "tally/sync/gradient_flow.h"

namespace tally::sync {

const char* to_string(Reduction reduction) noexcept {
  switch (reduction) {
    case Reduction::kSum:
      return "sum";
    case Reduction::kMean:
      return "mean";
    case Reduction::kMin:
      return "min";
    case Reduction::kMax:
      return "max";
    case Reduction::kProduct:
      return "product";
  }
  return "unknown";
}

at::ScalarType accumulate_dtype(at::ScalarType dtype) {
  if (dtype == at::kDouble || dtype == at::kComplexDouble ||
      dtype == at::kComplexFloat) {
    return dtype;
  }
  if (dtype == at::kComplexHalf) return at::kComplexFloat;
  if (at::isFloatingType(dtype)) return at::kFloat;
  if (dtype == at::kBool || at::isIntegralType(dtype, /*includeBool=*/false)) {
    return dtype == at::kUInt64 ? at::ScalarType::Undefined : at::kLong;
  }
  return at::ScalarType::Undefined;
}

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
