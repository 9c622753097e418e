#include "tally/metrics/registry/expression.h"

#include <c10/util/Exception.h>

#include <cctype>
#include <charconv>
#include <string>

#include "tally/metrics/core/option_text.h"

namespace tally::internal {
namespace {

// Far more than anyone needs, and far less than the stack holds.
constexpr int kMostOperands = 1000;
constexpr int kDeepest = 100;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class Parser {
 public:
  Parser(std::string_view text,
         c10::function_ref<Expression(std::string_view metric)> metric)
      : text_(text), metric_(metric) {}

  Expression whole() {
    Expression all = sum();
    if (at_ < text_.size()) refuse("an operator or the end");
    return all;
  }

 private:
  Expression sum() {
    Expression left = product();
    while (const auto* op = next_operator("+-")) left = op->of(left, product());
    return left;
  }

  Expression product() {
    Expression left = operand();
    while (const auto* op = next_operator("*/")) left = op->of(left, operand());
    return left;
  }

  const ExpressionOperator* next_operator(std::string_view symbols) {
    skip_blanks();
    if (at_ == text_.size() || symbols.find(text_[at_]) == symbols.npos) {
      return nullptr;
    }
    return ExpressionOperator::find(text_.substr(at_++, 1));
  }

  Expression operand() {
    skip_blanks();
    TORCH_CHECK_VALUE(++operands_ <= kMostOperands && depth_ < kDeepest,
                      "expected arithmetic of at most ", kMostOperands,
                      " operands, nested at most ", kDeepest, " times");
    ++depth_;
    Expression made = unnested();
    --depth_;
    return made;
  }

  Expression unnested() {
    double number = 0;
    const char* const begin = text_.data() + at_;
    const auto read =
        std::from_chars(begin, text_.data() + text_.size(), number);
    if (read.ec == std::errc() &&
        (read.ptr == text_.data() + text_.size() || !is_word(*read.ptr))) {
      at_ += static_cast<std::size_t>(read.ptr - begin);
      return Expression(number);
    }
    if (take('-')) {
      return ExpressionOperator::find("-")->of(Expression(0.0), operand());
    }
    if (take('(')) {
      Expression inside = sum();
      expect(')');
      return inside;
    }
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    if (end == at_) refuse("a metric, a number or '('");
    const auto* op = ExpressionOperator::find(text_.substr(at_, end - at_));
    if (op != nullptr) {
      at_ = end;
      return call(*op);
    }
    return metric(end);
  }

  Expression call(const ExpressionOperator& op) {
    expect('(');
    const Expression left = sum();
    if (op.operands == 2) expect(',');
    const Expression all = op.operands == 2 ? op.of(left, sum()) : op.of(left);
    expect(')');
    return all;
  }

  /// The one whose name ends there.
  Expression metric(std::size_t end) {
    const std::size_t begin = at_;
    if (end < text_.size() && text_[end] == '(') {
      const auto close = find_outside(text_, ")", end + 1);
      TORCH_CHECK_VALUE(close.ok() && *close < text_.size(),
                        "expected ')' after ", text_.substr(begin));
      end = *close + 1;
    }
    at_ = end;
    return metric_(text_.substr(begin, end - begin));
  }

  void skip_blanks() {
    while (at_ < text_.size() &&
           std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
  }

  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!take(c)) refuse(std::string("'") + c + "'");
  }

  [[noreturn]] void refuse(const std::string& expected) const {
    TORCH_CHECK_VALUE(false, "expected ", expected, " in '", text_, "', got ",
                      at_ < text_.size()
                          ? "'" + std::string(text_.substr(at_, 20)) + "'"
                          : std::string("its end"));
  }

  std::string_view text_;
  c10::function_ref<Expression(std::string_view metric)> metric_;
  std::size_t at_ = 0;
  int operands_ = 0;
  int depth_ = 0;
};

}  // namespace

Expression parse_expression(
    std::string_view text,
    c10::function_ref<Expression(std::string_view metric)> metric) {
  return Parser(text, metric).whole();
}

}  // namespace tally::internal
