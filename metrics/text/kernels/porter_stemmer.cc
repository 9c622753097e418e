#include "tally/metrics/text/kernels/porter_stemmer.h"

#include <cstddef>
#include <string_view>

namespace tally::internal::text {
namespace {

bool is_plain_vowel(char c) {
  return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u';
}

// A y is a consonant unless it follows one.
bool is_consonant(std::string_view word, std::size_t i) {
  if (is_plain_vowel(word[i])) return false;
  if (word[i] != 'y') return true;
  bool negate = false;
  while (i > 0 && word[i] == 'y') {
    negate = !negate;
    --i;
  }
  return !is_plain_vowel(word[i]) != negate;
}

// How often a consonant follows a vowel.
int measure(std::string_view stem) {
  int count = 0;
  bool was_consonant = true;
  for (std::size_t i = 0; i < stem.size(); ++i) {
    const bool consonant =
        stem[i] == 'y' ? i == 0 || !was_consonant : !is_plain_vowel(stem[i]);
    if (consonant && !was_consonant) ++count;
    was_consonant = consonant;
  }
  return count;
}

bool contains_vowel(std::string_view stem) {
  for (std::size_t i = 0; i < stem.size(); ++i) {
    if (!is_consonant(stem, i)) return true;
  }
  return false;
}

bool ends_double_consonant(std::string_view word) {
  const std::size_t size = word.size();
  return size >= 2 && word[size - 1] == word[size - 2] &&
         is_consonant(word, size - 1);
}

bool ends_cvc(std::string_view word) {
  const std::size_t size = word.size();
  if (size == 2) return !is_consonant(word, 0) && is_consonant(word, 1);
  if (size < 3) return false;
  const char last = word[size - 1];
  return is_consonant(word, size - 3) && !is_consonant(word, size - 2) &&
         is_consonant(word, size - 1) && last != 'w' && last != 'x' &&
         last != 'y';
}

bool ends_with(std::string_view word, std::string_view suffix) {
  return word.size() >= suffix.size() &&
         word.substr(word.size() - suffix.size()) == suffix;
}

std::string_view without(std::string_view word, std::size_t suffix) {
  return word.substr(0, word.size() - suffix);
}

void replace(std::string& word, std::size_t suffix, std::string_view by) {
  word.replace(word.size() - suffix, suffix, by.data(), by.size());
}

struct Rule {
  std::string_view suffix, replacement;
};

// The first rule whose suffix the word has decides: it is applied if the
// stem's measure is above `least`, and no other one is. Whether there is one.
template <std::size_t N>
bool apply_first(std::string& word, const Rule (&rules)[N], int least) {
  for (const Rule& rule : rules) {
    if (!ends_with(word, rule.suffix)) continue;
    if (measure(without(word, rule.suffix.size())) > least) {
      replace(word, rule.suffix.size(), rule.replacement);
    }
    return true;
  }
  return false;
}

void step_1a(std::string& word) {
  if (ends_with(word, "ies")) {
    replace(word, 3, word.size() == 4 ? "ie" : "i");
  } else if (ends_with(word, "sses")) {
    replace(word, 2, "");
  } else if (ends_with(word, "s") && !ends_with(word, "ss")) {
    replace(word, 1, "");
  }
}

void step_1b(std::string& word) {
  if (ends_with(word, "ied")) {
    replace(word, 3, word.size() == 4 ? "ie" : "i");
    return;
  }
  if (ends_with(word, "eed")) {
    if (measure(without(word, 3)) > 0) replace(word, 1, "");
    return;
  }
  const std::size_t suffix = ends_with(word, "ed")    ? 2
                             : ends_with(word, "ing") ? 3
                                                      : 0;
  if (suffix == 0 || !contains_vowel(without(word, suffix))) return;
  replace(word, suffix, "");
  if (ends_with(word, "at") || ends_with(word, "bl") || ends_with(word, "iz")) {
    word += 'e';
  } else if (ends_double_consonant(word)) {
    const char last = word.back();
    if (last != 'l' && last != 's' && last != 'z') word.pop_back();
  } else if (measure(word) == 1 && ends_cvc(word)) {
    word += 'e';
  }
}

void step_1c(std::string& word) {
  const std::size_t size = word.size();
  if (size > 2 && word[size - 1] == 'y' && is_consonant(word, size - 2)) {
    word[size - 1] = 'i';
  }
}

void step_2(std::string& word) {
  static constexpr Rule kRules[] = {
      {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},
      {"anci", "ance"},   {"izer", "ize"},    {"bli", "ble"},
      {"alli", "al"},     {"entli", "ent"},   {"eli", "e"},
      {"ousli", "ous"},   {"ization", "ize"}, {"ation", "ate"},
      {"ator", "ate"},    {"alism", "al"},    {"iveness", "ive"},
      {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},
      {"iviti", "ive"},   {"biliti", "ble"},  {"fulli", "ful"}};
  // What "alli" leaves may have another suffix.
  while (ends_with(word, "alli") && measure(without(word, 4)) > 0) {
    replace(word, 4, "al");
  }
  if (apply_first(word, kRules, 0)) return;
  if (ends_with(word, "logi") && measure(without(word, 3)) > 0) {
    replace(word, 1, "");
  }
}

void step_3(std::string& word) {
  static constexpr Rule kRules[] = {
      {"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
      {"ical", "ic"},  {"ful", ""},   {"ness", ""}};
  apply_first(word, kRules, 0);
}

void step_4(std::string& word) {
  static constexpr Rule kRules[] = {{"al", ""},   {"ance", ""}, {"ence", ""},
                                    {"er", ""},   {"ic", ""},   {"able", ""},
                                    {"ible", ""}, {"ant", ""},  {"ement", ""},
                                    {"ment", ""}, {"ent", ""}};
  static constexpr Rule kMore[] = {{"ou", ""},  {"ism", ""}, {"ate", ""},
                                   {"iti", ""}, {"ous", ""}, {"ive", ""},
                                   {"ize", ""}};
  if (apply_first(word, kRules, 1)) return;
  if (ends_with(word, "ion")) {
    const std::string_view stem = without(word, 3);
    if (measure(stem) > 1 && (stem.back() == 's' || stem.back() == 't')) {
      replace(word, 3, "");
    }
    return;
  }
  apply_first(word, kMore, 1);
}

void step_5(std::string& word) {
  if (ends_with(word, "e")) {
    const std::string_view stem = without(word, 1);
    const int m = measure(stem);
    if (m > 1 || (m == 1 && !ends_cvc(stem))) word.pop_back();
  }
  if (ends_with(word, "ll") && measure(without(word, 1)) > 1) word.pop_back();
}

// Words with a stem of their own.
const Rule* irregular(std::string_view word) {
  static constexpr Rule kWords[] = {
      {"sky", "sky"},        {"skies", "sky"},        {"dying", "die"},
      {"lying", "lie"},      {"tying", "tie"},        {"news", "news"},
      {"innings", "inning"}, {"inning", "inning"},    {"outings", "outing"},
      {"outing", "outing"},  {"cannings", "canning"}, {"canning", "canning"},
      {"howe", "howe"},      {"proceed", "proceed"},  {"exceed", "exceed"},
      {"succeed", "succeed"}};
  for (const Rule& rule : kWords) {
    if (word == rule.suffix) return &rule;
  }
  return nullptr;
}

}  // namespace

void porter_stem(std::string& word) {
  if (const Rule* rule = irregular(word)) {
    word.assign(rule->replacement.data(), rule->replacement.size());
    return;
  }
  if (word.size() <= 2) return;
  step_1a(word);
  step_1b(word);
  step_1c(word);
  step_2(word);
  step_3(word);
  step_4(word);
  step_5(word);
}

}  // namespace tally::internal::text
