#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tally/files/coco_items.h"

namespace tally::files {

using IdNames = std::map<std::int64_t, std::string>;  ///< of ids that are texts

/// The categories of a file of annotations, and the labels that stand for them:
/// their ids, or numbers where these are texts.
class CocoCategories {
 public:
  /// Adds a category, and returns its id.
  std::int64_t add(const CocoItem& item, IdNames& names);
  /// Numbers those with texts as ids, behind all others. Once, after the last.
  void number(const IdNames& names);

  bool contains(std::int64_t id) const { return labels_.count(id) != 0; }
  /// REQUIRES: contains(id).
  std::int64_t label(std::int64_t id) const { return labels_.at(id); }
  std::vector<std::int64_t> ids() const;
  /// Labels and names, by ascending label.
  std::vector<std::pair<std::int64_t, std::string>> listed() const;
  /// "categories: 0 is 'cat', 1 is 'dog'", of those that have numbers.
  const std::string& remark() const { return remark_; }

 private:
  std::map<std::int64_t, std::string> categories_;
  std::map<std::int64_t, std::int64_t> labels_;
  std::string remark_;
};

/// "7, 'a.jpg' and 3 more": the first five, each once.
std::string listed_ids(const std::vector<std::int64_t>& ids,
                       const IdNames& names);

}  // namespace tally::files
