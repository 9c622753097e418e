#include "tally/metrics/options.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <vector>

#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/core/option_text.h"
#include "tally/state/joined.h"
#include "tally/state/parse_number.h"

namespace tally::internal {
namespace {

constexpr const char* kBlanks = " \t\r\n";

/// Behind the quoted text that begins at `begin`; npos if it does not end.
std::size_t skip_quoted(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.npos;
}

bool is_quoted(std::string_view text) {
  return !text.empty() && text[0] == '"' && skip_quoted(text, 0) == text.size();
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

absl::StatusOr<std::size_t> find_outside(std::string_view text,
                                         std::string_view ends,
                                         std::size_t begin) {
  std::string closers;
  for (std::size_t i = begin; i < text.size();) {
    const char c = text[i];
    if (closers.empty() && ends.find(c) != ends.npos) return i;
    if (c == '"') {
      i = skip_quoted(text, i);
      if (i == text.npos) {
        return absl::InvalidArgumentError("expected a closing \"");
      }
      continue;
    }
    if (c == '(' || c == '[' || c == '{') {
      closers.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
      if (closers.empty() || closers.back() != c) {
        return absl::InvalidArgumentError(
            absl::StrCat("expected ", closers.empty() ? "nothing to close" : "",
                         closers.empty() ? "" : std::string(1, closers.back()),
                         ", got ", std::string(1, c)));
      }
      closers.pop_back();
    }
    ++i;
  }
  if (!closers.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a closing ", std::string(1, closers.back())));
  }
  return text.size();
}

absl::StatusOr<std::vector<std::string_view>> split_outside(
    std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = find_outside(text, std::string_view(&separator, 1), begin);
    if (!end.ok()) return end.status();
    const std::string_view part = trimmed(text.substr(begin, *end - begin));
    if (!part.empty() || *end < text.size()) parts.push_back(part);
    begin = *end + 1;
  }
  return parts;
}

std::string quote_text(const std::string& text) {
  const auto end = find_outside(text, ",;");
  if (end.ok() && *end == text.size() && !text.empty() && text.front() != '"' &&
      text.front() != ' ' && text.back() != ' ') {
    return text;
  }
  return in_quotes(text);
}

std::string in_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string item_name(const std::string& text) {
  return text.find(':') != text.npos ? in_quotes(text) : quote_text(text);
}

std::string unquote_text(std::string_view text) {
  if (!is_quoted(text)) return std::string(text);
  std::string value;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\') ++i;
    value += text[i];
  }
  return value;
}

namespace {

std::string print_number(std::int64_t value) { return std::to_string(value); }
std::string print_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  // The shortest text that reads back as the same double.
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return std::string(buffer, end);
}

using RealList = OptionType<std::vector<double>>;

class Printer final : public OptionVisitor {
 public:
  explicit Printer(bool state_only) : state_only_(state_only) {}
  OptionTexts take() { return std::move(texts_); }

 protected:
  void option(const char* name, const OptionRef& option,
              OptionRole role) override {
    if (state_only_ && role == OptionRole::kValue) return;
    const bool is_key = state_only_ && option.old_name() != nullptr;
    texts_.emplace_back(is_key ? option.old_name() : name, option.text());
  }

 private:
  bool state_only_;
  OptionTexts texts_;
};

class Describer final : public OptionVisitor {
 public:
  std::vector<OptionInfo> take() { return std::move(infos_); }

 protected:
  void option(const char* name, const OptionRef& option,
              OptionRole role) override {
    infos_.push_back({name, option.text(), option.expected(),
                      role == OptionRole::kSize, /*is_metric=*/false,
                      option.words()});
  }

 private:
  std::vector<OptionInfo> infos_;
};

void refuse_option(const std::string& owner, const char* name,
                   const OptionRefusal& refusal) {
  TORCH_CHECK_VALUE(false, owner, ": option '", name, "': expected ",
                    refusal.expected, ", got '", refusal.got, "'");
}

class Checker final : public OptionVisitor {
 public:
  explicit Checker(const char* owner) : owner_(owner) {}

 protected:
  void option(const char* name, const OptionRef& option, OptionRole) override {
    if (!option.is_limited()) return;
    if (const auto refusal = option.set(option.text())) {
      refuse_option(owner_, name, *refusal);
    }
  }

 private:
  const char* owner_;
};

class Parser final : public OptionVisitor {
 public:
  Parser(const std::string& owner,
         const std::map<std::string, std::string>& texts)
      : owner_(owner), texts_(texts) {}

  void check_all_used() const {
    for (const auto& [name, text] : texts_) {
      if (known_.count(name) + old_names_.count(name) != 0) continue;
      const std::vector<std::string> known(known_.begin(), known_.end());
      const std::string own = synonym_of(name, known);
      TORCH_CHECK_VALUE(false, owner_, ": unknown option '", name, "'",
                        own.empty() ? did_you_mean(name, known)
                                    : "; here it is '" + own + "'");
    }
  }

 protected:
  void option(const char* name, const OptionRef& option, OptionRole) override {
    known_.insert(name);
    auto text = texts_.find(name);
    if (option.old_name() != nullptr) {
      old_names_.insert(option.old_name());
      if (text == texts_.end()) text = texts_.find(option.old_name());
    }
    if (text == texts_.end()) return;
    if (const auto refusal = option.set(text->second)) {
      refuse_option(owner_, name, *refusal);
    }
  }

 private:
  const std::string& owner_;
  const std::map<std::string, std::string>& texts_;
  std::set<std::string> known_;
  std::set<std::string> old_names_;
};

}  // namespace

template <class T, class Void>
std::string OptionType<T, Void>::expected() {
  if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return "an integer";
  } else if constexpr (std::is_same_v<T, double>) {
    return "a number";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "text";
  } else {
    return "none, an integer, or " + RealList::expected();
  }
}

template <class T, class Void>
std::string OptionType<T, Void>::print(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return quote_text(value);
  } else if constexpr (std::is_same_v<T, CountOrList>) {
    if (const auto* count = std::get_if<std::int64_t>(&value)) {
      return std::to_string(*count);
    }
    if (const auto* list = std::get_if<std::vector<double>>(&value)) {
      return RealList::print(*list);
    }
    return "none";
  } else {
    return print_number(value);
  }
}

template <class T, class Void>
std::optional<OptionRefusal> OptionType<T, Void>::parse(const std::string& text,
                                                        T& value) {
  bool parsed = true;
  if constexpr (std::is_same_v<T, bool>) {
    parsed = text == "true" || text == "false";
    if (parsed) value = text == "true";
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = text;
  } else if constexpr (std::is_same_v<T, CountOrList>) {
    if (text == "none") {
      value = std::monostate();
    } else if (const auto count = parse_number<std::int64_t>(text)) {
      value = *count;
    } else if (split_list(text)) {
      std::vector<double> list;
      if (auto refusal = RealList::parse(text, list)) return refusal;
      value = std::move(list);
    } else {
      parsed = false;
    }
  } else {
    const auto number = parse_number<T>(text);
    parsed = number.has_value();
    if (parsed) value = *number;
  }
  if (!parsed) return OptionRefusal{expected(), text};
  return std::nullopt;
}

template struct OptionType<bool>;
template struct OptionType<std::int64_t>;
template struct OptionType<double>;
template struct OptionType<std::string>;
template struct OptionType<CountOrList>;
template struct OptionType<std::optional<std::int64_t>>;
template struct OptionType<std::optional<double>>;
template struct OptionType<std::vector<double>>;

std::string expected_choice(const char* const* names, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += (i == 0 ? "one of " : ", ") + std::string(names[i]);
  }
  return all;
}

std::optional<OptionRefusal> parse_choice(const std::string& text,
                                          const char* const* names,
                                          std::size_t count,
                                          std::size_t& index) {
  const char* const* found = std::find(names, names + count, text);
  if (found == names + count) {
    return OptionRefusal{expected_choice(names, count), text};
  }
  index = static_cast<std::size_t>(found - names);
  return std::nullopt;
}

std::string join_list(const std::vector<std::string>& items) {
  return "[" + c10::Join(", ", items) + "]";
}

std::optional<std::vector<std::string>> split_list(const std::string& text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    return std::nullopt;
  }
  const auto parts =
      split_outside(std::string_view(text).substr(1, text.size() - 2), ',');
  if (!parts.ok()) return std::nullopt;
  std::vector<std::string> items;
  for (const std::string_view part : *parts) {
    items.push_back(unquote_text(part));
  }
  return items;
}

OptionTexts option_texts(void* options, Visit visit, bool state_only) {
  Printer printer(state_only);
  visit(options, printer);
  OptionTexts texts = printer.take();
  if (state_only) std::sort(texts.begin(), texts.end());
  return texts;
}

std::string join_options(const OptionTexts& texts) {
  return joined(", ", texts, [](const auto& option) {
    return option.first + "=" + option.second;
  });
}

std::vector<OptionInfo> option_infos(void* options, Visit visit) {
  Describer describer;
  visit(options, describer);
  return describer.take();
}

void check_accepted(void* options, Visit visit, const char* owner) {
  Checker checker(owner);
  visit(options, checker);
}

void assign_options(void* options, Visit visit, const std::string& owner,
                    const std::map<std::string, std::string>& texts) {
  Parser parser(owner, texts);
  visit(options, parser);
  parser.check_all_used();
}

}  // namespace tally::internal
