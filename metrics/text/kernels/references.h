#pragma once

#include <c10/util/Exception.h>

#include <cstddef>

#include "tally/metrics/text_list.h"

namespace tally::internal::text {

/// c10::ValueError unless there are as many of one as of the other.
inline void check_same_count(std::size_t preds, std::size_t target) {
  TORCH_CHECK_VALUE(preds == target, "expected as many preds as target, got ",
                    preds, " and ", target);
}

/// c10::ValueError unless there are as many lists of references as texts, none
/// of them empty.
inline void check_references(const TextList& preds, const TextLists& target) {
  check_same_count(preds.size(), target.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    TORCH_CHECK_VALUE(!target[i].empty(),
                      "expected at least one reference for each text, got none "
                      "for sample ",
                      i);
  }
}

}  // namespace tally::internal::text
