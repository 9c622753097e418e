#include "tally/metrics/registry/search.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <utility>

#include "tally/metrics/common/did_you_mean.h"

namespace tally {
namespace {

using internal::lower_case;

constexpr std::size_t kMostNamed = 6;

/// "Mean squared (MSE)" as "mean", "squared", "mse"; signs and digits are kept
/// within a word: "recall@k".
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  char last = ' ';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool begins = std::isupper(code) != 0 &&
                        std::islower(static_cast<unsigned char>(last)) != 0;
    last = c;
    if (c == ' ' || c == ',' || c == '(' || c == ')' || c == ':' || c == '.') {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    if (begins && !words.back().empty()) words.emplace_back();
    words.back() += static_cast<char>(std::tolower(code));
  }
  return words;
}

/// Letters and digits in lower case: "f1_score" and "F1Score" are one name.
std::string plain(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (std::isalnum(code) != 0 || code >= 0x80) {
      kept += static_cast<char>(std::tolower(code));
    }
  }
  return kept;
}

/// "F1Score" of "BinaryF1Score".
std::string without_task(const std::string& name) {
  for (const std::string_view task :
       {"Binary", "Multiclass", "Multilabel", "Retrieval"}) {
    if (name.size() > task.size() && name.compare(0, task.size(), task) == 0) {
      return name.substr(task.size());
    }
  }
  return name;
}

std::vector<std::string> names_of(const std::string& name,
                                  const std::string& aliases) {
  std::vector<std::string> names{name};
  for (std::size_t begin = 0; begin < aliases.size();) {
    const std::size_t end = std::min(aliases.find(", ", begin), aliases.size());
    names.push_back(aliases.substr(begin, end - begin));
    begin = end + 2;
  }
  return names;
}

/// What a name may be short of: "NDCG@10" is NDCG, "precision_score" precision.
std::string nearly(const std::string& name) {
  constexpr std::string_view kScore = "score";
  std::string word = plain(name.substr(0, name.find('@')));
  if (word.size() > kScore.size() &&
      word.compare(word.size() - kScore.size(), kScore.size(), kScore) == 0) {
    word.resize(word.size() - kScore.size());
  }
  return word;
}

bool is_composition(const std::string& text) {
  const std::vector<std::string> operators{" + ", " - ", " * "};
  return std::any_of(operators.begin(), operators.end(), [&](const auto& each) {
    return text.find(each) != text.npos;
  });
}

template <class Found>
Found best_first(Found found) {
  std::stable_sort(
      found.begin(), found.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  return found;
}

enum : int { kNamed, kNearlyNamed, kHasWords, kContains };

}  // namespace

MetricSearch::MetricSearch(std::vector<std::string> words)
    : words_(std::move(words)) {
  for (std::string& word : words_) word = lower_case(std::move(word));
}

std::optional<MetricSearch::Rank> MetricSearch::rank_of(
    const MetricMatch& match, const char* aliases) const {
  const std::string asked = c10::Join(" ", words_);
  const auto names = names_of(match.text, aliases);
  const auto place_of = [&](const std::string& word) {
    const auto found =
        std::find_if(names.begin(), names.end(),
                     [&](const auto& name) { return plain(name) == word; });
    const bool is_short = word == plain(without_task(match.text));
    return found == names.end() && is_short
               ? std::size_t{1}
               : static_cast<std::size_t>(found - names.begin());
  };
  const std::size_t named = place_of(plain(asked));
  if (named < names.size()) return Rank{kNamed, named};
  const std::size_t near = place_of(nearly(asked));
  if (near < names.size()) return Rank{kNearlyNamed, near};
  const std::string text =
      c10::str(match.text, " ", match.domain, " ", match.what, " ", aliases);
  const auto words = words_of(text);
  const std::string lower = lower_case(text);
  bool are_words = true;
  for (const std::string& word : words_) {
    if (lower.find(word) == lower.npos) return std::nullopt;
    are_words &= std::find(words.begin(), words.end(), word) != words.end();
  }
  return Rank{are_words ? kHasWords : kContains, 0};
}

void MetricSearch::add(MetricMatch match, const char* aliases) {
  const auto rank = rank_of(match, aliases);
  if (!rank) return;
  match.is_named = rank->first <= kNearlyNamed;
  found_.emplace_back(*rank, std::move(match));
}

void MetricSearch::add(const Registry& registry) {
  for (const auto& [name, entry] : registry.entries()) {
    add({name, entry.summary.what, entry.domain}, entry.summary.aliases);
  }
  if (words_.empty()) return;
  for (const auto& expression : internal::named_expressions()) {
    add({expression.text, expression.what, "expressions"}, expression.aliases);
  }
}

std::vector<MetricMatch> MetricSearch::matches() const {
  std::vector<MetricMatch> matches;
  for (auto& [rank, match] : best_first(found_)) {
    matches.push_back(std::move(match));
  }
  return matches;
}

std::string MetricSearch::suggestion() const {
  std::vector<std::string> named;
  const auto found = best_first(found_);
  for (const auto& [rank, match] : found) {
    if (!match.is_named || rank.first != found.front().first.first) break;
    // Not all who ask can write one.
    if (is_composition(match.text)) return "; that is " + match.text;
    named.push_back("'" + match.text + "'");
  }
  if (named.empty() || named.size() > kMostNamed) return "";
  const std::string last = std::move(named.back());
  named.pop_back();
  return "; did you mean " + c10::Join(", ", named) +
         (named.empty() ? "" : " or ") + last + "?";
}

std::vector<MetricMatch> find_metrics(const Registry& registry,
                                      const std::vector<std::string>& words) {
  MetricSearch search(words);
  search.add(registry);
  return search.matches();
}

namespace internal {

const std::vector<NamedExpression>& named_expressions() {
  static const std::vector<NamedExpression> expressions{
      {"1 - BinarySpecificity()", "False positive rate.",
       "fpr, false positive rate"},
      {"1 - BinaryRecall()", "False negative rate.",
       "fnr, false negative rate, miss rate"},
      {"1 - BinaryPrecision()", "False discovery rate.",
       "fdr, false discovery rate"},
      {"1 - BinaryNegativePredictiveValue()", "False omission rate.",
       "for, false omission rate"},
      {"BinaryRecall() + BinarySpecificity() - 1", "Youden's J.",
       "youden, youden's j, informedness"},
      {"BinaryPrecision() + BinaryNegativePredictiveValue() - 1", "Markedness.",
       "markedness"},
      {"2 * BinaryAUROC() - 1", "Gini coefficient of scores.",
       "gini, gini coefficient"},
      {"1 - MulticlassAccuracy(num_classes=5, top_k=5, average=micro)",
       "Fraction of samples whose class is not among the best five.",
       "top-5 error"},
      {"MeanSquaredError(squared=false)", "Root mean squared error.",
       "rmse, root mean squared error, root mean square error"},
      {"MulticlassAccuracy(num_classes=5, top_k=5, average=micro)",
       "Fraction of samples whose class is among the best five.",
       "top-5 accuracy, top-5, top-k accuracy, top-k"},
      {"MeanAveragePrecision(iou_type=segm)",
       "Mean average precision of masks.", "mask ap, mask map"},
      {"MeanAveragePrecision(iou_type=keypoints)",
       "Mean average precision of keypoints.",
       "oks, keypoint ap, keypoint map"},
      {"MeanSquaredLogError(squared=false)",
       "Root mean squared logarithmic error.", "rmsle"},
      {"HausdorffDistance(num_classes=5, percentile=95)",
       "Hausdorff distance of the nearest 95% of the surfaces.", "hd95"},
  };
  return expressions;
}

std::string did_you_mean_metric(const Registry& registry,
                                const std::string& name) {
  MetricSearch search({name});
  search.add(registry);
  if (std::string named = search.suggestion(); !named.empty()) return named;
  std::vector<std::string> names;
  for (const auto& [known, entry] : registry.entries()) names.push_back(known);
  return did_you_mean(name, names);
}

}  // namespace internal

}  // namespace tally
