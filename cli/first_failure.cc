#include "tally/cli/first_failure.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <exception>

#include "tally/cli/messages.h"
#include "tally/sync/errors.h"
#include "tally/sync/gather.h"

namespace tally::cli {

std::string failure_of(c10::function_ref<void()> call) {
  try {
    call();
  } catch (const std::exception& error) {
    const std::string what = option_words(sync::describe(error));
    return what.empty() ? "failed" : what;
  }
  return "";
}

std::string first_failure(const std::string& failure,
                          const std::shared_ptr<sync::Communicator>& ranks) {
  at::Tensor bytes =
      at::empty({static_cast<std::int64_t>(failure.size())}, at::kByte);
  std::copy(failure.begin(), failure.end(),
            static_cast<std::uint8_t*>(bytes.data_ptr()));
  for (const at::Tensor& each :
       sync::gather_all_tensors(bytes, sync::GradientFlow::kDetached, ranks)) {
    if (each.numel() == 0) continue;
    return std::string(static_cast<const char*>(each.data_ptr()), each.numel());
  }
  return "";
}

void agree(const std::string& failure,
           const std::shared_ptr<sync::Communicator>& ranks) {
  const std::string what = first_failure(failure, ranks);
  TORCH_CHECK_VALUE(what.empty(), what);
}

}  // namespace tally::cli
