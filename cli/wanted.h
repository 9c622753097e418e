#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tally/cli/source.h"
#include "tally/files/csv.h"

namespace tally::cli {

/// What all metrics together accept as an input.
struct Wanted {
  bool takes_int = true;
  bool takes_float = true;
  bool takes_texts = true;
  bool takes_several = true;  // texts of a row
  bool takes_classes = true;  // of which texts may be names
  std::string refused_int;    // the error of a metric that takes no integers
  std::string refused_float;  // the same for floating point
  std::string refused_texts;
  std::string refused_several;
  /// kKeys or kNumbered if all metrics that take it only tell its values apart.
  std::optional<files::CsvKind> names;
  bool has_other_values = false;
  std::string words;  // who takes the words of texts, split at blanks
  std::string whole;  // who takes anything else
};

/// How to pass inputs, for error messages: "preds=FILE target=FILE".
using Example = std::string (*)(const std::vector<std::string>& names);
std::string files_by_name(const std::vector<std::string>& names);
std::string columns_by_name(const std::vector<std::string>& names);

/// What metrics want of each input. `names`: of the inputs, or empty. Throws
/// c10::ValueError unless every metric takes these inputs, and none is missing.
std::vector<Wanted> wanted_inputs(std::size_t count,
                                  const std::vector<std::string>& names,
                                  const std::vector<MetricInputs>& metrics,
                                  Example example);

/// The input, or the words of its texts, separated by blanks, if these are
/// wanted: of "O B-PER I-PER" three tags.
InputValue split_if_wanted(const Wanted& wanted, InputValue input);

/// How numbers and texts that can be either are to be read. Throws
/// c10::ValueError if nothing satisfies all metrics.
files::CsvKind kind_of(const Wanted& wanted);

/// Which inputs have classes, of which texts may be names.
std::vector<bool> have_classes(const std::vector<Wanted>& wanted);

/// "groups: 0 is 'F', 1 is 'M'", of texts that have numbers.
std::string number_remark(const std::string& input,
                          const std::set<std::string>& texts);

/// "preds is column 'a', target is column 'b'", where that was not said; `what`
/// they are: columns, keys, arrays.
std::string column_remark(const Arguments& arguments,
                          const std::vector<MetricInputs>& metrics,
                          const std::string& what,
                          const std::vector<std::string>& columns,
                          const std::vector<std::string>& names);

}  // namespace tally::cli
