#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/files/coco_files.h"
#include "tally/metrics/registry/registry.h"

namespace tally::cli {

/// The inputs of metrics in files, all with the same number of rows.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t bytes_per_row() const = 0;
  /// Names of the inputs; empty if they are passed by position.
  virtual const std::vector<std::string>& names() const = 0;
  /// Remarks for the user on how the files were read, one per line; empty if
  /// the arguments determine everything.
  virtual std::string remarks() const { return ""; }
  /// Of detected objects, where the files name them.
  virtual const files::Categories& categories() const {
    static const files::Categories kNone;
    return kNone;
  }
  /// Options that the files tell, as text, for metrics that have them.
  virtual std::vector<std::pair<std::string, std::string>> options() const {
    return {};
  }
  /// Where the user finds a row: "x.csv, line 7".
  virtual std::string place(std::int64_t row) {
    return "row " + std::to_string(row);
  }
  /// Where the user finds what a row has of an input, or, if that is not known
  /// (-1), the row: "x.csv, line 7, column 'preds'".
  virtual std::string value_place(std::int64_t row, std::int64_t) {
    return place(row);
  }
  /// The files: "preds.npy, target.npy".
  virtual std::string file_names() const = 0;
  /// Rows [begin, end) of each input.
  virtual std::vector<InputValue> read(std::int64_t begin,
                                       std::int64_t end) = 0;
  /// Of the rows read last, the texts in each of the columns of --by, then
  /// those of --ids or --groups.
  virtual std::vector<std::vector<std::string>> keys() { return {}; }
};

/// The inputs that a metric declares.
struct MetricInputs {
  std::string name;
  std::vector<InputInfo> inputs;
  std::string text = {};  ///< of the metric, for Registry::make
};

/// Opens the files that the arguments name. Throws c10::ValueError if they are
/// invalid, or do not fit the metrics.
std::unique_ptr<Source> open_source(const Arguments& arguments,
                                    const std::vector<MetricInputs>& metrics);

/// Throws c10::ValueError if rows are only parts of what a metric reads: the
/// samples of one signal, which would be cut where batches and ranks are.
void check_row_shapes(Source& source, const std::vector<MetricInputs>& metrics);

}  // namespace tally::cli
