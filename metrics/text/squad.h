#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/metric_of.h"
#include "tally/state/fields.h"

namespace tally {

/// Options of SQuAD.
///
/// Example:
///     SQuAD squad(SQuADOptions().empty_answers_match(false));
struct SQuADOptions {
  /// Whether the F1 of two answers without words is 1, as in SQuAD 2.0, or 0,
  /// as in version 1.1.
  TORCH_ARG(bool, empty_answers_match) = true;

 public:
  void visit(OptionVisitor& v) {
    v("empty_answers_match", empty_answers_match_,
      "Whether the F1 of two answers without words is 1, or 0.");
  }
};

/// The observer of SQuAD.
class AnswerMatches {
 public:
  static constexpr const char* kName = "AnswerMatches";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kText, "answers [N]"},
      {"target", InputKind::kTextLists, "correct answers for each of N"}};
  static constexpr const char* kUnit = "text";
  using Options = SQuADOptions;
  struct State {
    std::int64_t exact = 0;
    at::Tensor f1;  // an exact sum
    std::int64_t total = 0;

    void fields(Fields& f) { f("exact", exact)("f1", f1)("total", total); }
  };

  explicit AnswerMatches(const Options& options)
      : empty_f1_(options.empty_answers_match() ? 1 : 0) {}
  State observe(const TextList& preds, const TextLists& target) const;

 private:
  double empty_f1_;
};

/// Percentages of answers.
struct SQuADScores {
  at::Tensor exact_match;
  at::Tensor f1;

  void visit(ResultParts& parts) {
    parts("exact_match", exact_match)("f1", f1);
  }
};

/// Exact match and F1 of answers to questions, as in SQuAD. Before answers are
/// compared, they are put into lower case, ASCII punctuation is deleted, and so
/// are the words a, an and the. F1 is that of the words that both answers have,
/// counted as often as they occur; of several correct answers, the best counts,
/// for each score on its own.
/// update(preds, target): the answer to each of N questions, and a list of
/// correct answers for each; an empty list is that of an empty answer, as for
/// SQuAD 2.0's questions without one.
/// Result: two parts, `exact_match` and `f1`, 0-dim float64 in [0, 100]; NaN
/// before any update.
/// State: the number of exact matches, the exact sum of F1, so that the value
/// is the same for any split, and the number of questions, merged by addition.
/// Errors: c10::ValueError for another number of preds than of target, and for
/// what is not UTF-8, naming the sample and the byte.
/// Not differentiable.
/// Source: Rajpurkar et al. 2016; evaluate-v1.1.py and evaluate-v2.0.py of
/// SQuAD.
///
/// Example:
///     SQuAD squad;
///     squad.update(
///         std::vector<std::string>{"the Eiffel tower"},
///         std::vector<std::vector<std::string>>{{"Eiffel Tower", "tower"}});
///     double f1 = squad.compute().f1.item<double>();  // 100
class SQuAD final : public MetricOf<SQuAD, AnswerMatches, SQuADScores> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SQuAD";
  static constexpr MetricSummary kSummary{
      "Exact match and F1 of answers to questions, in percent.",
      "[0, 100]",
      "",
      "squad, exact match, em, question answering f1",
      R"(100\ \frac{1}{N} \sum_n \max_a F1(\hat a_n, a))",
      "Rajpurkar et al. 2016"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SQuADScores evaluate(const State& state) const;
};

extern template class MetricOf<SQuAD, AnswerMatches, SQuADScores>;

}  // namespace tally
