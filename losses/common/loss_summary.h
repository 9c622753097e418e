#pragma once

namespace tally::losses {

/// What a loss says about itself, for those who look for one: `tally list` and
/// `tally describe`, Python's documentation, the catalog.
///
///     static constexpr LossSummary kSummary{
///         "1 - Dice of the soft counts of all ranks.", "preds, target"};
struct LossSummary {
  /// One sentence of fewer than 79 characters.
  const char* what;
  /// What forward() takes, in that order; those that may be omitted end in
  /// "?": "preds, target, query?".
  const char* inputs;
  /// The names of what forward() gives; "": one tensor.
  const char* results = "";
  /// Other names by which people look for it, in lower case.
  const char* aliases = "";
  /// In LaTeX.
  const char* formula = "";
  /// Who defined it: "Milletari et al. 2016".
  const char* source = "";
  /// Options without a default, with example values: "dim=8".
  const char* required = "";
};

}  // namespace tally::losses
