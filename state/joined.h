#pragma once

#include <string>
#include <string_view>

namespace tally::internal {

/// The texts of the items, `text_of(item)`, with the separator between them.
/// Empty texts at the start have none. Items that are texts or numbers need no
/// `text_of`: c10::Join.
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

}  // namespace tally::internal
