#pragma once

#include <c10/util/Exception.h>

#include <string>

#include "tally/sync/errors.h"

namespace tally::testkit {

/// The message of the Error that `call` throws; "nothing" if it returns.
template <class Error = c10::ValueError, class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return sync::describe(error);
  }
  return "nothing";
}

}  // namespace tally::testkit
