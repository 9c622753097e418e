#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include "tally/losses/check_distributed_gradients.h"
#include "tally/sync/gradient_flow.h"

namespace tally::losses {
namespace {

std::string number(double value) {
  std::ostringstream out;
  out << std::setprecision(4) << value;
  return out.str();
}

// By its name, where the world size explains it.
std::string factor_name(double factor, double ranks, double tolerance) {
  const auto is = [&](double value) {
    return std::abs(factor - value) <= tolerance * std::max(1.0, value);
  };
  if (is(0)) return "0";
  if (ranks > 1) {
    if (is(1 / ranks)) return "1/W";
    if (is(ranks)) return "W";
    if (is(1 / (ranks * ranks))) return "1/W^2";
    if (is(ranks * ranks)) return "W^2";
  }
  return number(factor);
}

class Writer {
 public:
  explicit Writer(const DistributedGradientReport& report)
      : report_(report), ranks_(static_cast<double>(report.rows.size())) {
    for (const auto* list : {&report.parameters, &report.inputs}) {
      for (const GradientCheck& check : *list) {
        width_ = std::max(width_, check.name.size());
      }
    }
  }

  void write(std::ostream& out) {
    const bool mean = report_.gradients == GradientReduction::kMean;
    out << "gradients " << (mean ? "averaged" : "summed")
        << " over W = " << report_.rows.size() << " ranks with";
    for (std::int64_t rows : report_.rows) out << ' ' << rows;
    out << " rows: " << (report_.exact() ? "exact" : "NOT exact") << '\n';
    row(out, "loss", loss());
    for (const auto* list : {&report_.parameters, &report_.inputs}) {
      for (const GradientCheck& check : *list) {
        row(out, check.name, verdict(check) + reference(check));
      }
    }
    if (nothing_compared()) out << "* No gradient was compared.\n";
    list(out, "Not compared", not_compared_);
    list(out,
         "Not compared with differences of the loss, which requires float64",
         report_.unchecked_in_reference);
    if (report_.same_rows) {
      out << "* Every rank has the same rows: errors in the use of other "
             "ranks' rows do not show.\n";
    }
    if (report_.rows.size() == 1) {
      out << "* One rank: nothing that depends on other ranks was checked.\n";
    }
    for (const std::string& hint : hints_) out << "* " << hint << '\n';
    if (report_.dtype != at::kDouble) {
      out << "* The tensors are " << report_.dtype << ": errors below "
          << number(report_.tolerance)
          << " are not detected. Use float64 to detect them.\n";
    }
  }

 private:
  void row(std::ostream& out, const std::string& name,
           const std::string& text) const {
    out << "  " << std::left << std::setw(static_cast<int>(width_)) << name
        << "  " << text << '\n';
  }

  bool nothing_compared() const {
    for (const auto* list : {&report_.parameters, &report_.inputs}) {
      for (const GradientCheck& check : *list) {
        if (check.verdict != GradientVerdict::kNone &&
            check.verdict != GradientVerdict::kTooSmall) {
          return false;
        }
      }
    }
    return true;
  }

  static void list(std::ostream& out, const char* what,
                   const std::vector<std::string>& names) {
    if (names.empty()) return;
    out << "* " << what << ": " << c10::Join(", ", names) << ".\n";
  }

  std::string loss() {
    std::ostringstream out;
    out << std::setprecision(10) << report_.loss << " in one process, ";
    if (report_.loss_exact) {
      out << "the same over ranks";
      return out.str();
    }
    out << "on the ranks";
    for (double loss : report_.rank_losses) out << ' ' << loss;
    hint(
        "The ranks' losses do not average to the loss of the whole batch: "
        "a rank's statistics are used in place of those of all rows, or ranks "
        "are counted in place of rows (sync::average_over_ranks).");
    return out.str();
  }

  std::string verdict(const GradientCheck& check) {
    switch (check.verdict) {
      case GradientVerdict::kExact:
        for (const int rank : check.lost_on_ranks) {
          not_compared_.push_back(
              c10::str(check.name, " on rank ", rank,
                       ", below the rounding errors of other ranks'"));
        }
        return "exact";
      case GradientVerdict::kFactor:
        return by_factor(check);
      case GradientVerdict::kFactorPerRank: {
        std::string text = "off by a factor on each rank:";
        for (double factor : check.rank_factors) {
          text += std::isnan(factor) ? " -" : " " + number(factor);
        }
        hint(
            "A factor on each rank: each rank takes the mean over its own "
            "rows. "
            "Multiply a rank's loss by W * (its rows) / (all rows).");
        return text;
      }
      case GradientVerdict::kNotFinite:
        return not_finite(check);
      case GradientVerdict::kNone:
        not_compared_.push_back(check.name);
        return "no gradient, in one process either";
      case GradientVerdict::kTooSmall:
        not_compared_.push_back(check.name);
        return "below the rounding errors of larger ones";
      case GradientVerdict::kResidual:
        break;
    }
    hint(
        "A residual: terms that lead from one rank's loss to another rank's "
        "rows are missing (GradientFlow::kAllRanks provides them), or the "
        "loss is not that of the whole batch.");
    if (std::isnan(check.factor) && std::isinf(check.residual)) {
      return "wrong: a gradient where one process has none";
    }
    return "wrong: best fit " + number(check.factor) + ", residual " +
           number(check.residual);
  }

  std::string not_finite(const GradientCheck& check) {
    std::string text;
    const auto add = [&](const std::string& what, const char* where) {
      if (what.empty()) return;
      text += (text.empty() ? "" : ", ") + what + where;
    };
    add(check.in_one_process, " in one process");
    add(check.over_ranks, " over the ranks");
    hint("Non-finite gradients cannot be compared: check at another point.");
    return text;
  }

  std::string reference(const GradientCheck& check) {
    const auto& cut = report_.cut_in_reference;
    if (std::find(cut.begin(), cut.end(), check.name) == cut.end()) return "";
    hint(
        "The gradient in one process is not the loss's derivative: the graph "
        "is cut there as well, or replaced on purpose "
        "(check_reference(false)).");
    return "; in one process not the derivative";
  }

  std::string by_factor(const GradientCheck& check) {
    const std::string name =
        factor_name(check.factor, ranks_, report_.tolerance);
    const bool mean = report_.gradients == GradientReduction::kMean;
    if (name == "0") {
      hint(
          "Factor 0: the graph is cut, by a collective that carries no "
          "gradient or whose result is not used.");
    } else if (mean && name == "1/W") {
      hint(
          "Factor 1/W: only the own rank's loss reaches a row "
          "(GradientFlow::kLocal), which fits gradients that are summed; "
          "kReplicated and kAllRanks fit averaged ones.");
    } else if (!mean && name == "W") {
      hint(
          "Factor W: every rank's loss reaches a row (kReplicated, "
          "kAllRanks), which fits gradients that are averaged; "
          "GradientFlow::kLocal fits summed ones.");
    } else {
      hint(
          "Another factor: something is multiplied, divided or summed over "
          "the ranks once too often; often the loss was scaled to fix the "
          "gradient of the rest.");
    }
    return "off by the factor " + name;
  }

  void hint(const std::string& text) {
    for (const std::string& known : hints_) {
      if (known == text) return;
    }
    hints_.push_back(text);
  }

  const DistributedGradientReport& report_;
  double ranks_;
  std::size_t width_ = 4;
  std::vector<std::string> not_compared_;
  std::vector<std::string> hints_;
};

}  // namespace

bool DistributedGradientReport::exact() const {
  bool any = false;
  for (const auto* list : {&parameters, &inputs}) {
    for (const GradientCheck& check : *list) {
      if (check.verdict == GradientVerdict::kNone ||
          check.verdict == GradientVerdict::kTooSmall) {
        continue;
      }
      if (check.verdict != GradientVerdict::kExact) return false;
      any = true;
    }
  }
  return any && loss_exact && cut_in_reference.empty();
}

const GradientCheck& DistributedGradientReport::at(
    const std::string& name) const {
  for (const auto* list : {&parameters, &inputs}) {
    for (const GradientCheck& check : *list) {
      if (check.name == name) return check;
    }
  }
  TORCH_CHECK_INDEX(false,
                    "expected the name of a parameter or \"input 0\" "
                    "and so on, got '",
                    name, "'");
}

std::ostream& operator<<(std::ostream& out,
                         const DistributedGradientReport& report) {
  Writer(report).write(out);
  return out;
}

}  // namespace tally::losses
