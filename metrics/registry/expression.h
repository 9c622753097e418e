#pragma once

#include <c10/util/FunctionRef.h>

#include <string_view>

#include "tally/metrics/compositional.h"

namespace tally::internal {

/// Arithmetic on metrics, "2 * A(x=1) / (B() + 1)": numbers, + - * /, unary -,
/// parentheses, and pow, minimum, maximum, abs and sqrt. `metric(text)` is
/// called for each metric, from left to right. Throws c10::ValueError that says
/// what was expected and where.
Expression parse_expression(
    std::string_view text,
    c10::function_ref<Expression(std::string_view metric)> metric);

}  // namespace tally::internal
