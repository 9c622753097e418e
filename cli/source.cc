#include "tally/cli/source.h"

#include <c10/util/Exception.h>

#include <utility>

#include "tally/cli/csv.h"
#include "tally/cli/npy.h"

namespace tally::cli {
namespace {

/// "preds, target[, weight]".
std::string listed(const std::vector<MetricInput>& inputs) {
  std::string text;
  for (const MetricInput& input : inputs) {
    const std::string name = (text.empty() ? "" : ", ") + input.name;
    text += input.is_optional ? "[" + name + "]" : name;
  }
  return text;
}

/// Throws unless every metric takes so many inputs.
std::vector<Wanted> wanted_inputs(std::size_t count,
                                  const std::vector<MetricInputs>& metrics) {
  std::vector<Wanted> wanted(count);
  for (const MetricInputs& metric : metrics) {
    std::size_t least = 0;
    for (const MetricInput& input : metric.inputs) least += !input.is_optional;
    TORCH_CHECK_VALUE(count >= least && count <= metric.inputs.size(),
                      metric.name, ": expected the inputs ",
                      listed(metric.inputs), ", got ", count);
    for (std::size_t i = 0; i < count; ++i) {
      const MetricInput& input = metric.inputs[i];
      const std::string refusal =
          metric.name + ": expected " + input.name + " to be " + input.words;
      if (!input.takes_int) {
        wanted[i].takes_int = false;
        wanted[i].refused_int = refusal;
      }
      if (!input.takes_float) {
        wanted[i].takes_float = false;
        wanted[i].refused_float = refusal;
      }
    }
  }
  return wanted;
}

class NpySource final : public Source {
 public:
  NpySource(const std::vector<std::string>& paths,
            const std::vector<Wanted>& wanted) {
    for (std::size_t i = 0; i < paths.size(); ++i) {
      files_.push_back(std::make_unique<NpyFile>(paths[i]));
      const NpyFile& file = *files_.back();
      TORCH_CHECK_VALUE(file.rows() == rows(), "expected as many rows in ",
                        paths[i], " as in ", paths[0], ", got ", file.rows(),
                        " and ", rows());
      const NpyHeader& header = file.header();
      const bool is_float = header.kind == 'f';
      const bool is_complex = header.kind == 'c';
      const bool fits =
          is_float ? wanted[i].takes_float : !is_complex && wanted[i].takes_int;
      TORCH_CHECK_VALUE(!is_complex, paths[i], ": expected real numbers, got ",
                        header.dtype());
      TORCH_CHECK_VALUE(
          fits, is_float ? wanted[i].refused_float : wanted[i].refused_int,
          ", got ", header.dtype(), " in ", paths[i]);
    }
  }

  std::int64_t rows() const override { return files_.front()->rows(); }
  std::int64_t bytes_per_row() const override {
    std::int64_t bytes = 0;
    for (const auto& file : files_) bytes += file->bytes_per_row();
    return bytes;
  }
  std::vector<at::Tensor> read(std::int64_t begin, std::int64_t end) override {
    std::vector<at::Tensor> tensors;
    for (const auto& file : files_) tensors.push_back(file->read(begin, end));
    return tensors;
  }

 private:
  std::vector<std::unique_ptr<NpyFile>> files_;
};

class CsvSource final : public Source {
 public:
  CsvSource(const Arguments& arguments,
            const std::vector<MetricInputs>& metrics)
      : file_(arguments.csv, arguments.columns) {
    const auto wanted = wanted_inputs(file_.inputs().size(), metrics);
    std::vector<CsvNumbers> numbers;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      TORCH_CHECK_VALUE(wanted[i].takes_int || wanted[i].takes_float,
                        "no column can be what all metrics take: ",
                        wanted[i].refused_int, "; ", wanted[i].refused_float);
      numbers.push_back(!wanted[i].takes_float ? CsvNumbers::kIntegers
                        : wanted[i].takes_int  ? CsvNumbers::kEither
                                               : CsvNumbers::kFloats);
    }
    file_.scan(numbers);
  }

  std::int64_t rows() const override { return file_.rows(); }
  std::int64_t bytes_per_row() const override { return file_.bytes_per_row(); }
  std::vector<at::Tensor> read(std::int64_t begin, std::int64_t end) override {
    return file_.read(begin, end);
  }

 private:
  CsvFile file_;
};

}  // namespace

std::unique_ptr<Source> open_source(const Arguments& arguments,
                                    const std::vector<MetricInputs>& metrics) {
  if (!arguments.csv.empty()) {
    return std::make_unique<CsvSource>(arguments, metrics);
  }
  return std::make_unique<NpySource>(
      arguments.inputs, wanted_inputs(arguments.inputs.size(), metrics));
}

}  // namespace tally::cli
