#include "tally/metrics/text/kernels/tag_entities.h"

#include <c10/util/Exception.h>

#include <string>

#include "tally/metrics/text/kernels/unicode.h"

namespace tally::internal::text {
namespace {

constexpr std::string_view kNoType = "_";

struct Parts {
  std::string_view prefix, type;
};

Parts parts_of(std::string_view tag, const TagRules& rules) {
  std::size_t size = 1;
  const auto continues = [](char c) { return (c & 0xC0) == 0x80; };
  if (rules.suffix) {
    while (continues(tag[tag.size() - size])) ++size;
    return {tag.substr(tag.size() - size), tag.substr(0, tag.size() - size)};
  }
  while (size < tag.size() && continues(tag[size])) ++size;
  return {tag.substr(0, size), tag.substr(size)};
}

// Less dashes at both ends in strict mode, else what is beyond the one next to
// the prefix.
std::string_view type_of(std::string_view type, const TagRules& rules) {
  if (rules.mode == TagMode::kStrict) {
    const std::size_t begin = type.find_first_not_of('-');
    if (begin == std::string_view::npos) return kNoType;
    type = type.substr(begin, type.find_last_not_of('-') + 1 - begin);
  } else {
    const std::size_t dash = rules.suffix ? type.rfind('-') : type.find('-');
    if (dash != std::string_view::npos) {
      type = rules.suffix ? type.substr(0, dash) : type.substr(dash + 1);
    }
  }
  return type.empty() ? kNoType : type;
}

// A scheme of seqeval: which prefixes may occur, and after which ones an entity
// begins, goes on or has ended. Each rule is what the previous prefix is (one
// of a set), the next one, and whether the types are equal (=), differ (!) or
// do not matter (*).
struct Scheme {
  std::string_view prefixes;
  const char* starts;
  const char* insides;
  const char* ends;
};

constexpr Scheme kSchemes[] = {
    {"IOB", "OI* II! BI* IB= BB=", "BI= II=", "II! IO* IB* BO* BI! BB="},
    {"IOB", "?B*", "BI= II=", "IO* II! IB* BO* BI! BB*"},
    {"IOE", "OI* II! EI* EE=", "II= IE=", "II! IO* IE! EI= EE="},
    {"IOE", "OI* OE* EI* EE* II! IE!", "IE= II=", "E?*"},
    {"IOBES", "?B* ?S*", "BI= BE= II= IE=", "S?* E?*"},
    {"BILOU", "?B* ?U*", "BI= BL= II= IL=", "U?* L?*"},
};

bool fits(char pattern, char prefix) {
  return pattern == '?' || pattern == prefix;
}

// Whether one of the rules is about these two tags.
bool applies(const char* rules, char before, char now, bool same_type) {
  for (const char* rule = rules;; rule += 4) {
    const bool types = rule[2] == '*' || (rule[2] == '=') == same_type;
    if (types && fits(rule[0], before) && fits(rule[1], now)) return true;
    if (rule[3] == '\0') return false;
  }
}

bool is_in(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

}  // namespace

void TagEntities::read(const TextList& tags, const char* input,
                       std::size_t sample, TokenIds& types,
                       std::vector<Entity>& entities) {
  const bool is_strict = rules_.mode == TagMode::kStrict;
  const Scheme& scheme = kSchemes[static_cast<std::size_t>(rules_.scheme)];
  const std::uint32_t no_type = types.id(kNoType);
  tags_.clear();
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const std::string_view tag = tags[i];
    if (tag == "O") {
      tags_.push_back({'O', no_type});
      continue;
    }
    TORCH_CHECK_VALUE(!tag.empty(), "expected tags that are not empty, got an ",
                      "empty one at ", i, " in sample ", sample, " of ", input);
    check_utf8(tag, {input, sample});
    const Parts parts = parts_of(tag, rules_);
    const char prefix = parts.prefix.size() == 1 ? parts.prefix[0] : '\0';
    TORCH_CHECK_VALUE(
        !is_strict || (prefix != '\0' && is_in(prefix, scheme.prefixes)),
        "expected tags with a prefix of ", scheme.prefixes, ", got '", tag,
        "' at ", i, " in sample ", sample, " of ", input);
    tags_.push_back({prefix, types.id(type_of(parts.type, rules_))});
  }
  tags_.push_back({'O', no_type});
  entities.clear();
  if (is_strict) {
    read_strictly(entities);
  } else {
    read_leniently(entities);
  }
}

void TagEntities::read_leniently(std::vector<Entity>& entities) const {
  // Before a sentence as between two: after an O.
  Tag before = tags_.back();
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tags_.size(); ++i) {
    const Tag now = tags_[i];
    const bool differs = before.type != now.type;
    const bool ends =
        is_in(before.prefix, "ES") ||
        (is_in(before.prefix, "BI") && is_in(now.prefix, "BSO")) ||
        (!is_in(before.prefix, "O.") && differs);
    const bool starts =
        is_in(now.prefix, "BS") ||
        (is_in(before.prefix, "ESO") && is_in(now.prefix, "EI")) ||
        (!is_in(now.prefix, "O.") && differs);
    if (ends) entities.push_back({begin, i, before.type});
    if (starts) begin = i;
    before = now;
  }
}

void TagEntities::read_strictly(std::vector<Entity>& entities) const {
  const Scheme& scheme = kSchemes[static_cast<std::size_t>(rules_.scheme)];
  const auto is = [this](const char* rules, std::size_t now,
                         const Tag& before) {
    return applies(rules, before.prefix, tags_[now].prefix,
                   before.type == tags_[now].type);
  };
  Tag before = tags_.back();
  std::size_t i = 0;
  while (i < tags_.size()) {
    if (!is(scheme.starts, i, before)) {
      before = tags_[i++];
      continue;
    }
    const std::size_t begin = i++;
    // The O at the end is inside of nothing.
    while (is(scheme.insides, i, tags_[i - 1])) ++i;
    if (is(scheme.ends, i, tags_[i - 1])) {
      entities.push_back({begin, i, tags_[begin].type});
    }
    before = tags_[i - 1];
  }
}

}  // namespace tally::internal::text
