#include "tally/cli/feeds.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <string_view>

#include "tally/state/joined.h"

namespace tally::cli {
namespace {

constexpr Feed kFeeds[] = {Feed::kCsv,   Feed::kArrays, Feed::kJsonLines,
                           Feed::kTexts, Feed::kCoco,   Feed::kPanoptic};
constexpr int kTableDims = 2;  // rows, and columns or the numbers of a list

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// Of "[N, ..., 2]" 2, and of "[..., T]", whose rows are in front, also 2.
int dims_of(std::string_view shape) {
  int dims = shape.substr(0, 3) == "..." ? 1 : 0;
  while (!shape.empty()) {
    const std::size_t end = std::min(shape.find(','), shape.size());
    if (!contains(shape.substr(0, end), "...")) ++dims;
    shape.remove_prefix(std::min(end + 1, shape.size()));
  }
  return dims;
}

/// The fewest dimensions among the shapes in a description, without those of
/// complex numbers, which no file has; 0 without shapes.
int fewest_dims(std::string_view words) {
  int fewest = 0;
  while (true) {
    const std::size_t begin = words.find('[');
    const std::size_t end = words.find(']', begin);
    if (begin == words.npos || end == words.npos) return fewest;
    const int dims = dims_of(words.substr(begin + 1, end - begin - 1));
    if (!contains(words.substr(0, begin), "complex")) {
      fewest = fewest == 0 ? dims : std::min(fewest, dims);
    }
    words.remove_prefix(end + 1);
  }
}

bool reads(Feed feed, const InputInfo& input) {
  const InputForms forms = forms_of(input);
  const bool is_number = forms.is_int || forms.is_float;
  switch (feed) {
    case Feed::kArrays:
      return is_number;
    case Feed::kCsv:
    case Feed::kJsonLines:
      return forms.is_text || (is_number && forms.dims <= kTableDims);
    case Feed::kTexts:
      return forms.is_text;
    case Feed::kCoco:
      return forms.is_objects;
    case Feed::kPanoptic:
      return forms.is_segments;
  }
  return false;
}

std::string joined_words(const std::vector<Feed>& feeds) {
  return internal::joined(
      ", ", feeds, [](Feed feed) { return std::string(words_of(feed)); });
}

}  // namespace

const char* tag_of(Feed feed) {
  constexpr const char* kTags[] = {"csv", "npy",  "jsonl",
                                   "txt", "coco", "coco_panoptic"};
  return kTags[static_cast<int>(feed)];
}

const char* words_of(Feed feed) {
  constexpr const char* kWords[] = {"CSV columns", ".npy, .npz",
                                    ".jsonl",      "text files",
                                    "COCO",        "COCO panoptic"};
  return kWords[static_cast<int>(feed)];
}

InputForms forms_of(const InputInfo& input) {
  const InputKind kind = input.kind;
  const bool is_any = kind == InputKind::kReal || kind == InputKind::kAny ||
                      kind == InputKind::kCategories;
  InputForms forms;
  forms.is_segments = kind == InputKind::kSegments;
  forms.is_int = is_any || forms.is_segments || kind == InputKind::kInteger ||
                 kind == InputKind::kKeys || kind == InputKind::kGroups;
  forms.is_float = is_any || kind == InputKind::kFloat;
  forms.is_words = kind == InputKind::kTokens;
  forms.is_texts = forms.is_words || kind == InputKind::kTextLists;
  forms.is_text = forms.is_texts || kind == InputKind::kText;
  forms.is_objects = kind == InputKind::kRagged;
  forms.is_class = forms.is_int && (contains(input.words, "label") ||
                                    contains(input.words, "0 or 1"));
  forms.dims = fewest_dims(input.words);
  forms.has_open_rows = contains(input.words, "[..., ");
  return forms;
}

std::string described(const InputInfo& input) {
  const std::string words = input.words;
  return input.kind == InputKind::kTasks ? "a map of names to " + words : words;
}

std::vector<Feed> feeds_of(c10::ArrayRef<InputInfo> inputs) {
  std::vector<Feed> feeds;
  for (const Feed feed : kFeeds) {
    const bool has_all =
        std::all_of(inputs.begin(), inputs.end(), [&](const InputInfo& input) {
          return input.is_optional || reads(feed, input);
        });
    if (has_all && !inputs.empty()) feeds.push_back(feed);
  }
  return feeds;
}

std::string feeds_text(c10::ArrayRef<InputInfo> inputs) {
  const std::vector<Feed> feeds = feeds_of(inputs);
  if (!feeds.empty()) return joined_words(feeds);
  for (const InputInfo& input : inputs) {
    const bool is_read =
        std::any_of(std::begin(kFeeds), std::end(kFeeds),
                    [&](Feed feed) { return reads(feed, input); });
    if (!is_read && !input.is_optional) {
      return std::string("no file: ") + input.name + " is " + described(input);
    }
  }
  return inputs.empty() ? "no file: its inputs are not declared"
                        : "no file: none has all inputs";
}

void check_feeds(const std::string& metric, c10::ArrayRef<InputInfo> inputs,
                 const std::vector<Feed>& feeds) {
  const std::vector<Feed> own = feeds_of(inputs);
  for (const InputInfo& input : inputs) {
    const bool is_read =
        input.is_optional ||
        std::any_of(feeds.begin(), feeds.end(),
                    [&](Feed feed) { return reads(feed, input); });
    TORCH_CHECK_VALUE(is_read, metric, ": expected ", input.name, " to be ",
                      described(input), ", got ", joined_words(feeds), "; it ",
                      own.empty() ? "is read from no file" : "takes ",
                      joined_words(own));
  }
}

}  // namespace tally::cli
