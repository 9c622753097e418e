#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/registry/registry.h"

namespace tally {

/// What a search found: a metric, or an expression of metrics.
struct MetricMatch {
  /// "WordErrorRate", "1 - BinarySpecificity()".
  std::string text;
  std::string what;
  /// Of expressions: "expressions".
  std::string domain;
  /// Whether what was looked for is one of its names.
  bool is_named = false;
};

/// The metrics in whose name, other names, domain or description all words
/// occur, in upper or lower case. First those that have the words, joined by
/// spaces, as a name or another name (see MetricSummary::aliases), the most
/// used first; then those in which all are whole words. Without words, all
/// metrics by name.
///
///     find_metrics(builtin_registry(), {"fpr"});  // 1 - BinarySpecificity()
std::vector<MetricMatch> find_metrics(const Registry& registry,
                                      const std::vector<std::string>& words);

/// A search for words among what is added.
class MetricSearch {
 public:
  explicit MetricSearch(std::vector<std::string> words);

  void add(const Registry& registry);
  /// `aliases` as MetricSummary::aliases.
  void add(MetricMatch match, const char* aliases);
  /// The best first.
  std::vector<MetricMatch> matches() const;
  /// "; did you mean 'WordErrorRate'?" if the words are another name of few
  /// matches; empty otherwise.
  std::string suggestion() const;

 private:
  /// How good a match is: by what, and the place among its names.
  using Rank = std::pair<int, std::size_t>;
  std::optional<Rank> rank_of(const MetricMatch& match,
                              const char* aliases) const;

  std::vector<std::string> words_;
  std::vector<std::pair<Rank, MetricMatch>> found_;
};

namespace internal {

/// An expression by which a quantity is had that no metric is named after.
struct NamedExpression {
  const char* text;
  const char* what;
  const char* aliases;
};
const std::vector<NamedExpression>& named_expressions();

/// "; did you mean 'WordErrorRate'?" for a name that is none of a metric, also
/// if metrics have it as another name; empty if nothing is near.
std::string did_you_mean_metric(const Registry& registry,
                                const std::string& name);

}  // namespace internal
}  // namespace tally
