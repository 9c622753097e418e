#include "tally/metrics/text/squad.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "tally/metrics/common/exact_sums.h"
#include "tally/metrics/text/kernels/for_each_sentence.h"
#include "tally/metrics/text/kernels/references.h"
#include "tally/metrics/text/kernels/unicode.h"

namespace tally {
namespace {

namespace text = internal::text;

using Words = std::vector<std::u32string>;

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Puts a space in place of each a, an and the between boundaries of words, as
// regular expressions of Python have them.
void delete_articles(std::u32string& from) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= from.size(); ++i) {
    if (i < from.size() && text::is_word_char(from[i])) continue;
    const std::u32string_view word(from.data() + begin, i - begin);
    if (word == U"a" || word == U"an" || word == U"the") {
      std::fill_n(from.begin() + static_cast<std::ptrdiff_t>(begin),
                  word.size(), U' ');
    }
    begin = i + 1;
  }
}

Words words_of(std::string_view answer, const text::TextPlace& place) {
  std::u32string chars = text::lower(text::decode_utf8(answer, place));
  chars.erase(std::remove_if(chars.begin(), chars.end(), is_ascii_punctuation),
              chars.end());
  delete_articles(chars);
  Words words;
  for (const std::u32string_view word : text::split(chars)) {
    words.emplace_back(word);
  }
  return words;
}

double f1_of(Words preds, Words target, double empty_f1) {
  if (preds.empty() && target.empty()) return empty_f1;
  std::sort(preds.begin(), preds.end());
  std::sort(target.begin(), target.end());
  Words common;
  std::set_intersection(preds.begin(), preds.end(), target.begin(),
                        target.end(), std::back_inserter(common));
  if (common.empty()) return 0;
  const auto same = static_cast<double>(common.size());
  const double precision = same / static_cast<double>(preds.size());
  const double recall = same / static_cast<double>(target.size());
  return 2 * precision * recall / (precision + recall);
}

struct Scores {
  bool is_exact = false;
  double f1 = 0;
};

Scores scores_of(std::size_t sample, std::string_view pred,
                 const TextList& answers, double empty_f1) {
  const Words preds = words_of(pred, {"preds", sample});
  Scores best;
  const auto compare = [&](const Words& target) {
    best.is_exact |= preds == target;
    best.f1 = std::max(best.f1, f1_of(preds, target, empty_f1));
  };
  for (const std::string_view answer : answers) {
    compare(words_of(answer, {"target", sample}));
  }
  if (answers.empty()) compare({});
  return best;
}

}  // namespace

AnswerMatches::State AnswerMatches::observe(const TextList& preds,
                                            const TextLists& target) const {
  text::check_same_count(preds.size(), target.size());
  std::vector<Scores> scores(preds.size());
  text::for_each_sentence(
      preds.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          scores[i] = scores_of(i, preds[i], target[i], empty_f1_);
        }
      });
  State state;
  internal::ExactSums f1(1);
  for (const Scores& score : scores) {
    state.exact += score.is_exact ? 1 : 0;
    f1.add(0, score.f1);
  }
  state.f1 = f1.tensor();
  state.total = static_cast<std::int64_t>(scores.size());
  return state;
}

SQuADScores SQuAD::evaluate(const State& state) const {
  const auto percentage = [&](double sum) {
    return Number(100 * sum) / Number(state.total);
  };
  return {percentage(static_cast<double>(state.exact)),
          percentage(internal::ExactSums::value(state.f1))};
}

template class MetricOf<SQuAD, AnswerMatches, SQuADScores>;

}  // namespace tally
