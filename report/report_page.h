#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace tally {

/// A cell of a table: a text, or a number, by which its column is sorted.
struct ReportCell {
  ReportCell(std::string cell) : text(std::move(cell)) {}
  ReportCell(const char* cell) : text(cell) {}
  /// With six digits.
  ReportCell(double value);
  ReportCell(std::int64_t value);

  std::string text;
  std::optional<double> number;
};

/// A table, whose first column names the rows.
struct ReportTable {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<ReportCell>> rows;
};

/// A page of HTML that needs no other file and no network: headings, texts,
/// tables that a click or key sorts, and charts with their numbers as a table.
///
/// Whatever a text contains is shown, not interpreted, and bytes that are not
/// UTF-8 are replaced. The page follows the reader's choice of light or dark,
/// fits screens from 320 pixels on, and meets WCAG 2.2 AA; its only script
/// sorts tables, and a policy in its head forbids it to load anything.
///
/// Throws c10::ValueError for a table whose rows have more or fewer cells than
/// columns, and for a chart that is not SVG.
///
/// Example:
///     ReportPage page("Digits");
///     page.section("Results");
///     page.table({"Results", {"metric", "value"}, {{"accuracy", 0.97}}});
///     page.chart(bar_plot(at::rand({3})), {"Values", {"class", "value"}, {}});
///     std::string html = page.html();
class ReportPage {
 public:
  explicit ReportPage(std::string title) : title_(std::move(title)) {}

  /// Begins a part of the page, which its contents list.
  void section(const std::string& heading);
  void text(const std::string& paragraph);
  /// A text as it is, such as a command.
  void code(const std::string& text);
  void table(const ReportTable& table);
  /// `svg`: one of plots/plots.h. `data`: the numbers that it shows.
  void chart(const std::string& svg, const ReportTable& data);

  /// The finished page.
  std::string html() const;

 private:
  void end_charts();
  std::string table_html(const ReportTable& table);

  std::string title_;
  std::vector<std::string> headings_;
  std::string body_;
  bool in_charts_ = false;
  int ids_ = 0;
};

}  // namespace tally
