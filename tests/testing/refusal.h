#pragma once

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cstdint>
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

/// That of metric.update(inputs...), which must not count what it refuses.
template <class Error = c10::ValueError, class Metric, class... Inputs>
std::string refusal_of_update(Metric& metric, const Inputs&... inputs) {
  const std::int64_t count = metric.update_count();
  const std::string text = refusal_of<Error>([&] { metric.update(inputs...); });
  EXPECT_EQ(metric.update_count() - count, text == "nothing" ? 1 : 0);
  return text;
}

}  // namespace tally::testkit
