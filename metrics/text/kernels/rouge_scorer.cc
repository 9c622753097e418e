#include "tally/metrics/text/kernels/rouge_scorer.h"

#include <algorithm>
#include <utility>

#include "tally/metrics/text/kernels/common_subsequence.h"
#include "tally/metrics/text/kernels/porter_stemmer.h"
#include "tally/metrics/text/kernels/unicode.h"

namespace tally::internal::text {
namespace {

// Shorter tokens are their own stem.
constexpr std::size_t kShortestStemmed = 4;

// What the stemmer knows.
bool is_stemmed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_of_word(char32_t c) {
  const CharClass found = char_class(c);
  return found == CharClass::kLetter || found == CharClass::kNumber ||
         found == CharClass::kMark;
}

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

void CommonSubsequence::set_reference(Words reference, std::size_t vocabulary) {
  for (const std::uint32_t word : reference_) last_[word] = kNone;
  if (last_.size() < vocabulary) last_.resize(vocabulary, kNone);
  reference_.assign(reference.begin(), reference.end());
  before_.resize(reference.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    before_[i] = last_[reference[i]];
    last_[reference[i]] = static_cast<std::uint32_t>(i);
  }
  blocks_ = (reference.size() + 63) / 64;
  matches_.assign(blocks_, 0);
}

template <class Visit>
void CommonSubsequence::visit_columns(Words other, const Visit& visit) {
  bits_.assign(blocks_, ~std::uint64_t{0});
  for (const std::uint32_t word : other) {
    const std::uint32_t last = last_[word];
    for (auto at = last; at != kNone; at = before_[at]) {
      matches_[at / 64] |= std::uint64_t{1} << at % 64;
    }
    std::uint64_t carry = 0;
    // A column without a match is the one before it.
    for (std::size_t b = 0; last != kNone && b < blocks_; ++b) {
      const std::uint64_t found = bits_[b] & matches_[b];
      const std::uint64_t sum = bits_[b] + found;
      const std::uint64_t next = sum + carry;
      carry = sum < found || next < carry;
      bits_[b] = next | (bits_[b] & ~found);
    }
    for (auto at = last; at != kNone; at = before_[at]) matches_[at / 64] = 0;
    visit();
  }
}

std::int64_t CommonSubsequence::length(Words other) {
  visit_columns(other, [] {});
  std::int64_t length = 0;
  for (std::size_t i = 0; i < reference_.size(); ++i) {
    length += (bits_[i / 64] >> i % 64 & 1) == 0;
  }
  return length;
}

void CommonSubsequence::mark(Words other, std::vector<char>& hit) {
  table_.clear();
  table_.reserve(blocks_ * other.size());
  visit_columns(other, [this] {
    table_.insert(table_.end(), bits_.begin(), bits_.end());
  });
  std::size_t i = reference_.size(), j = other.size();
  while (i > 0 && j > 0) {
    const std::size_t word = i - 1;
    const std::uint64_t column = table_[(j - 1) * blocks_ + word / 64];
    if (reference_[word] == other[j - 1]) {
      hit[word] = 1;
      --i;
      --j;
    } else if ((column >> word % 64 & 1) == 0) {
      // The length grows with the reference's word, so that it is the same
      // without the other's.
      --j;
    } else {
      --i;
    }
  }
}

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

RougeScorer::RougeScorer(std::vector<RougeKey> keys, Rules rules)
    : keys_(std::move(keys)), rules_(std::move(rules)) {
  for (const RougeKey& key : keys_) orders_ = std::max(orders_, key.n);
}

void RougeScorer::add_token(Text& out) {
  if (rules_.use_stemmer && word_.size() >= kShortestStemmed &&
      std::all_of(word_.begin(), word_.end(), is_stemmed)) {
    porter_stem(word_);
  }
  if (!word_.empty()) {
    out.letters += word_;
    out.ends.push_back(out.letters.size());
  }
  word_.clear();
}

void RougeScorer::read(std::string_view text, Text& out) {
  out.letters.clear();
  out.ends.clear();
  out.lines.clear();
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    read_line(text.substr(0, end), out);
    out.lines.push_back(out.ends.size());
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

void RougeScorer::read_line(std::string_view line, Text& out) {
  if (rules_.token_function) {
    for (const std::string& token : rules_.token_function(line)) {
      word_ = token;
      add_token(out);
    }
  } else if (rules_.tokenizer == RougeTokenizer::kRougeScore) {
    read_ascii(line, out);
  } else {
    read_unicode(line, out);
  }
}

// Runs of a-z and 0-9 in lower case. Two other code points have a lower case
// that begins with one of these: U+0130, the dotted capital I, whose dot then
// ends the token, and U+212A, the Kelvin sign.
void RougeScorer::read_ascii(std::string_view line, Text& out) {
  constexpr std::string_view kDottedI = "\xC4\xB0", kKelvin = "\xE2\x84\xAA";
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (is_stemmed(c)) {
      word_ += c;
    } else if (c >= 'A' && c <= 'Z') {
      word_ += static_cast<char>(c - 'A' + 'a');
    } else if (line.substr(i, kKelvin.size()) == kKelvin) {
      word_ += 'k';
      i += kKelvin.size() - 1;
    } else {
      if (line.substr(i, kDottedI.size()) == kDottedI) word_ += 'i';
      if (!word_.empty()) add_token(out);
    }
  }
  add_token(out);
}

void RougeScorer::read_unicode(std::string_view line, Text& out) {
  decoded_.clear();
  for (std::size_t at = 0; at < line.size();) {
    decoded_ += next_code_point(line, at);
  }
  const bool by_space = rules_.tokenizer == RougeTokenizer::kWhitespace;
  if (!by_space) decoded_ = lower(decoded_);
  const std::u32string_view text = decoded_;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    if (rules_.tokenizer == RougeTokenizer::kCharacters) {
      end += is_space(text[begin]) ? 0 : 1;
    } else {
      while (end < text.size() &&
             (by_space ? !is_space(text[end]) : is_of_word(text[end]))) {
        ++end;
      }
    }
    word_ = encode_utf8(text.substr(begin, end - begin));
    add_token(out);
    begin = std::max(end, begin + 1);
  }
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
