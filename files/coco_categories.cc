#include "tally/files/coco_categories.h"

#include <algorithm>
#include <cstddef>

#include "tally/files/file_kind.h"
#include "tally/metrics/common/text_key.h"

namespace tally::files {
namespace {

constexpr std::int64_t kMostLabel = 0x7FFFFFFF;  // that metrics take

}  // namespace

std::int64_t CocoCategories::add(const CocoItem& item, IdNames& names) {
  const std::int64_t id = item.id("id", names);
  const auto named = names.find(id);
  categories_[id] = item.has("name")       ? item.text("name")
                    : named != names.end() ? named->second
                                           : std::to_string(id);
  return id;
}

void CocoCategories::number(const IdNames& names) {
  constexpr std::size_t kMost = 20;
  std::map<std::string, std::int64_t> texts;
  std::int64_t next = 0;
  for (const auto& [id, category] : categories_) {
    const auto text = names.find(id);
    // "7" is the number 7, whatever it names elsewhere.
    if (text != names.end() && !internal::integer_of_text(text->second)) {
      texts.emplace(text->second, id);
      continue;
    }
    labels_.emplace(id, id);
    if (id >= next && id < kMostLabel) next = id + 1;
  }
  std::size_t shown = 0;
  for (const auto& [text, id] : texts) {
    labels_.emplace(id, next);
    if (shown < kMost) {
      remark_ += (shown == 0 ? "categories: " : ", ") + std::to_string(next) +
                 " is '" + shown_text(text) + "'";
    }
    ++shown;
    ++next;
  }
  if (shown > 0) remark_ += shown > kMost ? ", ...\n" : "\n";
}

std::vector<std::int64_t> CocoCategories::ids() const {
  std::vector<std::int64_t> ids;
  for (const auto& [id, label] : labels_) ids.push_back(id);
  return ids;
}

std::vector<std::pair<std::int64_t, std::string>> CocoCategories::listed()
    const {
  std::vector<std::pair<std::int64_t, std::string>> all;
  for (const auto& [id, label] : labels_) {
    all.emplace_back(label, categories_.at(id));
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string listed_ids(const std::vector<std::int64_t>& ids,
                       const IdNames& names) {
  constexpr std::size_t kMost = 5;
  std::set<std::int64_t> known;
  std::string text;
  for (const std::int64_t id : ids) {
    if (!known.insert(id).second || known.size() > kMost) continue;
    const auto name = names.find(id);
    text += known.size() == 1 ? "" : ", ";
    text += name == names.end() ? std::to_string(id)
                                : "'" + shown_text(name->second) + "'";
  }
  const std::size_t more = known.size() - std::min(kMost, known.size());
  return text + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

}  // namespace tally::files
