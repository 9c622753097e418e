#include "tally/report/report_page.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <cstdio>
#include <string_view>

#include "tally/metrics/text/kernels/unicode.h"
#include "tally/report/page_parts.h"
#include "tally/version.h"

namespace tally {
namespace {

/// With the characters of markup escaped, and without those that XML lacks.
std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += static_cast<unsigned char>(c) < ' ' && c != '\n' ? ' ' : c;
    }
  }
  return html;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  for (;;) {
    const std::size_t bad = internal::text::find_invalid_utf8(text);
    valid += text.substr(0, bad);
    if (bad == text.size()) return valid;
    valid += "\xEF\xBF\xBD";
    text.remove_prefix(bad + 1);
  }
}

std::string number_text(const char* format, double value) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  for (char& c : text) c = c == ',' ? '.' : c;  // of a locale
  return text;
}

std::string cell_html(const ReportCell& cell, bool names_row) {
  std::string html = names_row ? "<th scope=\"row\"" : "<td";
  if (cell.number && std::isfinite(*cell.number)) {
    html += " data-value=\"" + number_text("%.17g", *cell.number) + "\"";
  }
  return html + ">" + escaped(cell.text) + (names_row ? "</th>" : "</td>");
}

}  // namespace

ReportCell::ReportCell(double value)
    : text(std::isnan(value)   ? "undefined"
           : std::isinf(value) ? (value < 0 ? "-infinity" : "infinity")
                               : number_text("%.6g", value)),
      number(value) {
  if (text == "-0") text = "0";
}

ReportCell::ReportCell(std::int64_t value)
    : text(std::to_string(value)), number(static_cast<double>(value)) {}

void ReportPage::end_charts() {
  if (in_charts_) body_ += "</div>\n";
  in_charts_ = false;
}

void ReportPage::section(const std::string& heading) {
  end_charts();
  if (!headings_.empty()) body_ += "</section>\n";
  headings_.push_back(heading);
  const std::string id = "section-" + std::to_string(headings_.size());
  body_ += "<section aria-labelledby=\"" + id + "\">\n<h2 id=\"" + id + "\">" +
           escaped(heading) + "</h2>\n";
}

void ReportPage::text(const std::string& paragraph) {
  end_charts();
  body_ += "<p>" + escaped(paragraph) + "</p>\n";
}

void ReportPage::code(const std::string& text) {
  end_charts();
  body_ += "<pre><code>" + escaped(text) + "</code></pre>\n";
}

std::string ReportPage::table_html(const ReportTable& table) {
  for (const auto& row : table.rows) {
    TORCH_CHECK_VALUE(row.size() == table.columns.size(),
                      "ReportPage: expected ", table.columns.size(),
                      " cells in each row of '", table.caption, "', got ",
                      row.size());
  }
  const std::string id = "table-" + std::to_string(++ids_);
  std::string html =
      "<div class=\"scroller\" role=\"region\" tabindex=\"0\" "
      "aria-labelledby=\"" +
      id + "\">\n<table>\n<caption id=\"" + id + "\">" +
      escaped(table.caption) + "</caption>\n<thead><tr>";
  for (const std::string& column : table.columns) {
    html += "<th scope=\"col\" aria-sort=\"none\"><button type=\"button\">" +
            escaped(column) + "</button></th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      html += cell_html(row[i], i == 0);
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

void ReportPage::table(const ReportTable& table) {
  const std::string html = table_html(table);
  end_charts();
  body_ += html;
}

void ReportPage::chart(const std::string& svg, const ReportTable& data) {
  const std::size_t title = svg.find("<title>"), desc = svg.find("<desc>");
  TORCH_CHECK_VALUE(svg.compare(0, 5, "<svg ") == 0 && title != svg.npos &&
                        desc != svg.npos && title < desc,
                    "ReportPage: expected a chart as SVG with a title and a "
                    "description, got '",
                    svg.substr(0, 40), "'");
  const std::string table = table_html(data);
  const std::string id = "chart-" + std::to_string(++ids_);
  std::string chart = svg;
  // From the end, where places do not move.
  chart.insert(desc + 5, " id=\"" + id + "-desc\"");
  chart.insert(title + 6, " id=\"" + id + "-title\"");
  chart.insert(5, "aria-labelledby=\"" + id + "-title\" aria-describedby=\"" +
                      id + "-desc\" ");
  if (!in_charts_) body_ += "<div class=\"charts\">\n";
  in_charts_ = true;
  body_ += "<figure>\n" + chart +
           "<details><summary>Data: " + escaped(data.caption) + "</summary>\n" +
           table + "</details>\n</figure>\n";
}

std::string ReportPage::html() const {
  std::string contents;
  for (std::size_t i = 0; i < headings_.size(); ++i) {
    contents += "<li><a href=\"#section-" + std::to_string(i + 1) + "\">" +
                escaped(headings_[i]) + "</a></li>\n";
  }
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"/>\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src "
      "'unsafe-inline'\"/>\n<title>" +
      escaped(title_) + "</title>\n<style>" + internal::kReportStyle +
      "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the "
      "results</a>\n<header>\n<h1>" +
      escaped(title_) + "</h1>\n";
  if (!contents.empty()) {
    page += "<nav aria-label=\"Contents\"><ul>\n" + contents + "</ul></nav>\n";
  }
  page += "</header>\n<main id=\"main\" tabindex=\"-1\">\n" + body_;
  if (in_charts_) page += "</div>\n";
  if (!headings_.empty()) page += "</section>\n";
  page += "</main>\n<footer><p>Made by Tally " + std::string(TALLY_VERSION) +
          ".</p></footer>\n<script>" + internal::kReportScript +
          "</script>\n</body>\n</html>\n";
  return valid_utf8(page);
}

}  // namespace tally
