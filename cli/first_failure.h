#pragma once

#include <c10/util/FunctionRef.h>

#include <memory>
#include <string>

#include "tally/sync/communicator.h"

namespace tally::cli {

/// The message of what `call` threw, or empty.
std::string failure_of(c10::function_ref<void()> call);

/// The first rank's failure that is not empty, on all of them. Collective.
std::string first_failure(const std::string& failure,
                          const std::shared_ptr<sync::Communicator>& ranks);

/// Throws the first rank's failure on all of them. Collective.
void agree(const std::string& failure,
           const std::shared_ptr<sync::Communicator>& ranks);

}  // namespace tally::cli
