#pragma once

#include <string>
#include <string_view>

namespace tally::internal {

/// The texts of the items, `text_of(item)`, with the separator between them.
/// Empty texts at the start have none.
template <class Items, class TextOf>
std::string joined(std::string_view separator, const Items& items,
                   const TextOf& text_of) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += separator;
    text += text_of(item);
  }
  return text;
}

/// The same of items that are texts.
template <class Items>
std::string joined(std::string_view separator, const Items& items) {
  return joined(separator, items, [](std::string_view item) { return item; });
}

}  // namespace tally::internal
