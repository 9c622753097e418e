#include "tally/metrics/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include "tally/metrics/nearest.h"

namespace tally::internal {
namespace {

constexpr const char* kBool = "true or false";
constexpr const char* kInteger = "an integer";
constexpr const char* kReal = "a number";
constexpr const char* kText = "text";
constexpr const char* kOptionalInteger = "none or an integer";
constexpr const char* kOptionalReal = "none or a number";
constexpr const char* kList = "a list such as [0.1, 0.9]";
constexpr const char* kCountOrList =
    "none, an integer, or a list such as [0.1, 0.9]";

std::string one_of(const char* const* names, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += (i == 0 ? "one of " : ", ") + std::string(names[i]);
  }
  return all;
}

// The shortest text that reads back as the same double.
std::string to_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return std::string(buffer, end);
}

std::string to_text(const std::vector<double>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : ", ") + to_text(values[i]);
  }
  return text + "]";
}

// Whether a reader of "name=text, ..." would find another end of the text.
bool needs_quotes(const std::string& text) {
  if (text.empty() || text.front() == '"') return true;
  std::string closers;
  bool inside_quotes = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') inside_quotes = !inside_quotes;
    if (inside_quotes) {
      i += c == '\\';
      continue;
    }
    if (closers.empty() && (c == ',' || c == ';')) return true;
    if (c == '(' || c == '[' || c == '{') {
      closers.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
      if (closers.empty() || closers.back() != c) return true;
      closers.pop_back();
    }
  }
  return inside_quotes || !closers.empty() || text.front() == ' ' ||
         text.back() == ' ';
}

class Printer final : public OptionVisitor {
 public:
  explicit Printer(bool state_only) : state_only_(state_only) {}
  OptionTexts take() { return std::move(texts_); }

 protected:
  void option(const char* name, bool& value, OptionRole role) override {
    add(name, value ? "true" : "false", role);
  }
  void option(const char* name, std::int64_t& value, OptionRole role) override {
    add(name, std::to_string(value), role);
  }
  void option(const char* name, double& value, OptionRole role) override {
    add(name, to_text(value), role);
  }
  void option(const char* name, std::string& value, OptionRole role) override {
    add(name, quote_text(value), role);
  }
  void option(const char* name, std::optional<std::int64_t>& value,
              OptionRole role) override {
    add(name, value ? std::to_string(*value) : "none", role);
  }
  void option(const char* name, std::optional<double>& value,
              OptionRole role) override {
    add(name, value ? to_text(*value) : "none", role);
  }
  void option(const char* name, std::vector<double>& value,
              OptionRole role) override {
    add(name, to_text(value), role);
  }
  void option(const char* name, CountOrList& value, OptionRole role) override {
    if (const auto* count = std::get_if<std::int64_t>(&value)) {
      add(name, std::to_string(*count), role);
    } else if (const auto* list = std::get_if<std::vector<double>>(&value)) {
      add(name, to_text(*list), role);
    } else {
      add(name, "none", role);
    }
  }
  void choice(const char* name, std::size_t& index, const char* const* names,
              std::size_t, OptionRole role) override {
    add(name, names[index], role);
  }

 private:
  void add(const char* name, std::string text, OptionRole role) {
    if (state_only_ && role == OptionRole::kValue) return;
    texts_.emplace_back(name, std::move(text));
  }

  bool state_only_;
  OptionTexts texts_;
};

/// What texts each option takes.
class Describer final : public OptionVisitor {
 public:
  std::vector<std::string> take() { return std::move(expected_); }

 protected:
  void option(const char*, bool&, OptionRole) override { add(kBool); }
  void option(const char*, std::int64_t&, OptionRole) override {
    add(kInteger);
  }
  void option(const char*, double&, OptionRole) override { add(kReal); }
  void option(const char*, std::string&, OptionRole) override { add(kText); }
  void option(const char*, std::optional<std::int64_t>&, OptionRole) override {
    add(kOptionalInteger);
  }
  void option(const char*, std::optional<double>&, OptionRole) override {
    add(kOptionalReal);
  }
  void option(const char*, std::vector<double>&, OptionRole) override {
    add(kList);
  }
  void option(const char*, CountOrList&, OptionRole) override {
    add(kCountOrList);
  }
  void choice(const char*, std::size_t&, const char* const* names,
              std::size_t count, OptionRole) override {
    add(one_of(names, count));
  }

 private:
  void add(std::string expected) { expected_.push_back(std::move(expected)); }

  std::vector<std::string> expected_;
};

class Parser final : public OptionVisitor {
 public:
  Parser(const std::string& owner,
         const std::map<std::string, std::string>& texts)
      : owner_(owner), texts_(texts) {}

  void check_all_used() const {
    for (const auto& [name, text] : texts_) {
      if (known_.count(name) != 0) continue;
      TORCH_CHECK_VALUE(false, owner_, ": there is no option '", name, "'",
                        did_you_mean(name, {known_.begin(), known_.end()}));
    }
  }

 protected:
  void option(const char* name, bool& value, OptionRole) override {
    const std::string* text = find(name);
    if (!text) return;
    if (*text != "true" && *text != "false") {
      refuse(name, *text, kBool);
    }
    value = *text == "true";
  }
  void option(const char* name, std::int64_t& value, OptionRole) override {
    if (const std::string* text = find(name)) value = integer(name, *text);
  }
  void option(const char* name, double& value, OptionRole) override {
    if (const std::string* text = find(name)) value = real(name, *text);
  }
  void option(const char* name, std::string& value, OptionRole) override {
    if (const std::string* text = find(name)) value = *text;
  }
  void option(const char* name, std::optional<std::int64_t>& value,
              OptionRole) override {
    const std::string* text = find(name);
    if (!text) return;
    value = *text == "none" ? std::nullopt
                            : std::make_optional(integer(name, *text));
  }
  void option(const char* name, std::optional<double>& value,
              OptionRole) override {
    const std::string* text = find(name);
    if (!text) return;
    value =
        *text == "none" ? std::nullopt : std::make_optional(real(name, *text));
  }
  void option(const char* name, std::vector<double>& value,
              OptionRole) override {
    const std::string* text = find(name);
    if (!text) return;
    if (!is_list(*text)) refuse(name, *text, kList);
    value = list(name, *text);
  }
  void option(const char* name, CountOrList& value, OptionRole) override {
    const std::string* text = find(name);
    if (!text) return;
    if (*text == "none") {
      value = std::monostate();
    } else if (is_list(*text)) {
      value = list(name, *text);
    } else if (const auto count = to_integer(*text)) {
      value = *count;
    } else {
      refuse(name, *text, kCountOrList);
    }
  }
  void choice(const char* name, std::size_t& index, const char* const* names,
              std::size_t count, OptionRole) override {
    const std::string* text = find(name);
    if (!text) return;
    const char* const* end = names + count;
    const char* const* found = std::find(names, end, *text);
    if (found == end) {
      refuse(name, *text, one_of(names, count));
    }
    index = static_cast<std::size_t>(found - names);
  }

 private:
  const std::string* find(const char* name) {
    known_.insert(name);
    const auto it = texts_.find(name);
    return it == texts_.end() ? nullptr : &it->second;
  }

  [[noreturn]] void refuse(const char* name, const std::string& text,
                           const std::string& expected) const {
    TORCH_CHECK_VALUE(false, owner_, ": option '", name, "': expected ",
                      expected, ", got '", text, "'");
  }

  std::int64_t integer(const char* name, const std::string& text) const {
    const std::optional<std::int64_t> value = to_integer(text);
    if (!value) refuse(name, text, kInteger);
    return *value;
  }

  static std::optional<std::int64_t> to_integer(const std::string& text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    return value;
  }

  static bool is_list(const std::string& text) {
    return text.size() >= 2 && text.front() == '[' && text.back() == ']';
  }

  std::vector<double> list(const char* name, const std::string& text) const {
    std::vector<double> values;
    std::istringstream items(text.substr(1, text.size() - 2));
    for (std::string item; std::getline(items, item, ',');) {
      item.erase(0, item.find_first_not_of(' '));
      values.push_back(real(name, item));
    }
    return values;
  }

  double real(const char* name, const std::string& text) const {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      refuse(name, text, kReal);
    }
    return value;
  }

  const std::string& owner_;
  const std::map<std::string, std::string>& texts_;
  std::set<std::string> known_;
};

}  // namespace

std::string quote_text(const std::string& text) {
  if (!needs_quotes(text)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

OptionTexts option_texts(void* options, Visit visit, bool state_only) {
  Printer printer(state_only);
  visit(options, printer);
  OptionTexts texts = printer.take();
  if (state_only) std::sort(texts.begin(), texts.end());
  return texts;
}

std::string join_options(const OptionTexts& texts) {
  std::string joined;
  for (const auto& [name, text] : texts) {
    joined += (joined.empty() ? "" : ", ") + name + "=" + text;
  }
  return joined;
}

std::vector<OptionInfo> option_infos(void* options, Visit visit) {
  Describer describer;
  visit(options, describer);
  std::vector<std::string> expected = describer.take();
  std::vector<OptionInfo> infos;
  for (auto& [name, text] : option_texts(options, visit, false)) {
    infos.push_back(
        {std::move(name), std::move(text), std::move(expected[infos.size()])});
  }
  return infos;
}

void assign_options(void* options, Visit visit, const std::string& owner,
                    const std::map<std::string, std::string>& texts) {
  Parser parser(owner, texts);
  visit(options, parser);
  parser.check_all_used();
}

}  // namespace tally::internal
