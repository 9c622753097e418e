#include "tally/metrics/text/kernels/rouge_scorer.h"

#include <algorithm>
#include <utility>

#include "tally/metrics/text/kernels/porter_stemmer.h"

namespace tally::internal::text {
namespace {

// Shorter tokens are their own stem.
constexpr std::size_t kShortestStemmed = 4;

RougeValue value_of(std::int64_t hits, std::int64_t predicted,
                    std::int64_t expected) {
  RougeValue value;
  const auto found = static_cast<double>(hits);
  value.precision =
      found / static_cast<double>(std::max<std::int64_t>(predicted, 1));
  value.recall =
      found / static_cast<double>(std::max<std::int64_t>(expected, 1));
  if (hits > 0) {
    value.fmeasure =
        2 * value.precision * value.recall / (value.precision + value.recall);
  }
  return value;
}

}  // namespace

bool RougeKey::parse(const std::string& name, RougeKey& key) {
  if (name == "rougeL") {
    key = {Kind::kSequence};
  } else if (name == "rougeLsum") {
    key = {Kind::kSummary};
  } else if (name.size() == 6 && name.compare(0, 5, "rouge") == 0 &&
             name[5] >= '1' && name[5] <= '9') {
    key = {Kind::kNgrams, name[5] - '0'};
  } else {
    return false;
  }
  return true;
}

RougeScorer::RougeScorer(std::vector<RougeKey> keys, bool use_stemmer)
    : keys_(std::move(keys)), use_stemmer_(use_stemmer) {
  for (const RougeKey& key : keys_) orders_ = std::max(orders_, key.n);
}

void RougeScorer::add_token(Text& out) {
  if (use_stemmer_ && word_.size() >= kShortestStemmed) porter_stem(word_);
  if (!word_.empty()) {
    out.letters += word_;
    out.ends.push_back(out.letters.size());
  }
  word_.clear();
}

// Tokens are runs of a-z and 0-9 in lower case. Two other code points have a
// lower case that begins with one of these: U+0130, the dotted capital I, whose
// dot then ends the token, and U+212A, the Kelvin sign.
void RougeScorer::read(std::string_view text, Text& out) {
  constexpr std::string_view kDottedI = "\xC4\xB0", kKelvin = "\xE2\x84\xAA";
  out.letters.clear();
  out.ends.clear();
  out.lines.clear();
  word_.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word_ += c;
    } else if (c >= 'A' && c <= 'Z') {
      word_ += static_cast<char>(c - 'A' + 'a');
    } else if (text.substr(i, kKelvin.size()) == kKelvin) {
      word_ += 'k';
      i += kKelvin.size() - 1;
    } else {
      if (text.substr(i, kDottedI.size()) == kDottedI) word_ += 'i';
      if (!word_.empty()) add_token(out);
      if (c == '\n') out.lines.push_back(out.ends.size());
    }
  }
  add_token(out);
  out.lines.push_back(out.ends.size());
}

void RougeScorer::set_prediction(std::string_view text) {
  read(text, prediction_);
}

const std::vector<RougeValue>& RougeScorer::score(std::string_view reference) {
  read(reference, reference_);
  tokens_.clear();
  for (Text* text : {&reference_, &prediction_}) {
    text->ids.clear();
    std::size_t begin = 0;
    for (const std::size_t end : text->ends) {
      text->ids.push_back(tokens_.id(
          std::string_view(text->letters).substr(begin, end - begin)));
      begin = end;
    }
  }
  matches_.assign(static_cast<std::size_t>(orders_), 0);
  ngrams_.clear();
  ngrams_.add_reference(reference_.ids, orders_);
  ngrams_.match(prediction_.ids, orders_, matches_.data());
  values_.clear();
  for (const RougeKey& key : keys_) {
    if (key.kind == RougeKey::Kind::kSequence) {
      values_.push_back(sequence());
    } else if (key.kind == RougeKey::Kind::kSummary) {
      values_.push_back(summary());
    } else {
      values_.push_back(
          value_of(matches_[static_cast<std::size_t>(key.n - 1)],
                   NgramCounts::count(prediction_.ids.size(), key.n),
                   NgramCounts::count(reference_.ids.size(), key.n)));
    }
  }
  return values_;
}

RougeValue RougeScorer::sequence() {
  common_.set_reference(reference_.ids, tokens_.size());
  return value_of(common_.length(prediction_.ids),
                  static_cast<std::int64_t>(prediction_.ids.size()),
                  static_cast<std::int64_t>(reference_.ids.size()));
}

RougeValue RougeScorer::summary() {
  left_in_prediction_.assign(tokens_.size(), 0);
  left_in_reference_.assign(tokens_.size(), 0);
  for (const std::uint32_t id : prediction_.ids) ++left_in_prediction_[id];
  for (const std::uint32_t id : reference_.ids) ++left_in_reference_[id];
  std::int64_t hits = 0;
  for (std::size_t i = 0; i < reference_.lines.size(); ++i) {
    const NgramCounts::Symbols line = reference_.line(i);
    if (line.empty()) continue;
    common_.set_reference(line, tokens_.size());
    hit_.assign(line.size(), 0);
    for (std::size_t j = 0; j < prediction_.lines.size(); ++j) {
      common_.mark(prediction_.line(j), hit_);
    }
    for (std::size_t place = 0; place < line.size(); ++place) {
      const std::uint32_t id = line[place];
      if (hit_[place] == 0 || left_in_prediction_[id] == 0 ||
          left_in_reference_[id] == 0) {
        continue;
      }
      ++hits;
      --left_in_prediction_[id];
      --left_in_reference_[id];
    }
  }
  return value_of(hits, static_cast<std::int64_t>(prediction_.ids.size()),
                  static_cast<std::int64_t>(reference_.ids.size()));
}

}  // namespace tally::internal::text
