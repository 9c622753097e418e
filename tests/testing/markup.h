#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace tally::testkit {

/// Whether a text's elements are nested, closed, and have their attributes
/// quoted.
inline bool is_well_formed(const std::string& markup) {
  std::vector<std::string> open;
  for (std::size_t at = markup.find('<'); at != markup.npos;
       at = markup.find('<', at + 1)) {
    const std::size_t end = markup.find('>', at);
    if (end == markup.npos) return false;
    const std::string tag = markup.substr(at + 1, end - at - 1);
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
    if (tag[0] == '!') continue;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty();
}

/// The values of an attribute, in their order.
inline std::vector<std::string> attributes(const std::string& markup,
                                           const std::string& name) {
  std::vector<std::string> values;
  const std::string start = " " + name + "=\"";
  for (std::size_t at = markup.find(start); at != markup.npos;
       at = markup.find(start, at)) {
    at += start.size();
    values.push_back(markup.substr(at, markup.find('"', at) - at));
  }
  return values;
}

}  // namespace tally::testkit
