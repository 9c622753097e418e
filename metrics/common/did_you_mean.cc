#include "tally/metrics/common/did_you_mean.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace tally::internal {
namespace {

constexpr std::size_t kLongestCompared = 64;
constexpr std::size_t kShortestPart = 4;
constexpr std::size_t kMostParts = 6;

// Of Damerau and Levenshtein: letters changed, left out, added, or swapped with
// a neighbor.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(
      a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1,
                          d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string with_part(const std::string& part,
                      const std::vector<std::string>& candidates) {
  std::vector<std::string> found;
  for (const std::string& candidate : candidates) {
    if (lower_case(candidate).find(part) != std::string::npos) {
      found.push_back("'" + candidate + "'");
    }
  }
  if (found.empty() || found.size() > kMostParts) return "";
  std::string text = found.front();
  for (std::size_t i = 1; i < found.size(); ++i) {
    text += (i + 1 < found.size() ? ", " : " or ") + found[i];
  }
  return text;
}

}  // namespace

std::string did_you_mean(const std::string& name,
                         const std::vector<std::string>& candidates) {
  if (name.size() > kLongestCompared) return "";
  const std::string wanted = lower_case(name);
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(wanted, lower_case(candidate));
    if (distance < best && distance < candidate.size()) {
      best = distance;
      nearest = "'" + candidate + "'";
    }
  }
  if (nearest.empty() && name.size() >= kShortestPart) {
    nearest = with_part(wanted, candidates);
  }
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

namespace {

/// Names of one thing in different metrics, libraries and papers.
const std::vector<std::vector<std::string>>& synonyms() {
  static const std::vector<std::vector<std::string>> all = {
      {"n_bins", "num_bins", "bins"},
      {"eps", "epsilon"},
      {"num_classes", "n_classes", "classes"},
      {"num_labels", "n_labels"},
      {"num_outputs", "n_outputs"},
      {"ignore_index", "ignore_label", "pad_id", "pad_token_id"},
      {"class_names", "labels"},
      {"top_k", "k"},
      {"kernel_size", "window_size", "win_size"},
      {"input", "from_logits", "logits"},
      {"average", "reduction", "aggregation", "averaging"},
      {"count_cases", "count_silent"},
      {"zero_division", "zero_div"},
      {"threshold", "thresholds"},
  };
  return all;
}

}  // namespace

std::string synonym_of(const std::string& option,
                       const std::vector<std::string>& candidates) {
  const auto has = [](const std::vector<std::string>& names,
                      const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::vector<std::string>& names : synonyms()) {
    if (!has(names, option)) continue;
    for (const std::string& name : names) {
      if (has(candidates, name)) return name;
    }
  }
  return "";
}

}  // namespace tally::internal
