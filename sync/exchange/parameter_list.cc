#include "tally/sync/exchange/parameter_list.h"

#include <c10/core/InferenceMode.h>
#include <c10/util/StringUtil.h>

namespace tally::sync::internal {

std::string list_of(const std::vector<at::Tensor>& parameters) {
  std::string text = c10::str(parameters.size(), " parameters\n");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    text += c10::str("parameter ", i, ": ", parameters[i].scalar_type(), ' ',
                     parameters[i].sizes(), '\n');
  }
  return text;
}

bool is_writable(const at::Tensor& tensor) {
  return !tensor.is_inference() || c10::InferenceMode::is_enabled();
}

}  // namespace tally::sync::internal
