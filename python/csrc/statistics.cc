#include <torch/custom_class.h>
#include <torch/library.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "tally/metrics/intervals/equivalence.h"
#include "tally/metrics/intervals/multiple_tests.h"
#include "tally/metrics/intervals/paired_tests.h"
#include "tally/metrics/intervals/planning.h"
#include "tally/metrics/intervals/proportions.h"
#include "tally/metrics/intervals/unpaired_tests.h"
#include "tally/python/csrc/library.h"

namespace tally::python {
namespace {

using at::Tensor;
/// The fields of a struct, or the numbers of which one is made, in order.
using Fields = std::vector<double>;

Fields fields_of(const IntervalBounds& ends) { return {ends.low, ends.high}; }

Fields fields_of(const AreaEstimate& estimate) {
  return {estimate.area,
          estimate.standard_error,
          estimate.positives,
          estimate.negatives,
          estimate.effective_positives,
          estimate.effective_negatives};
}

Fields fields_of(const AreaComparison& areas) {
  return {areas.first, areas.second,  areas.difference,    areas.low,
          areas.high,  areas.p_value, areas.standard_error};
}

AreaEstimate estimate_of(const Fields& fields) {
  AreaEstimate estimate{fields.at(0), fields.at(1), fields.at(2), fields.at(3)};
  estimate.effective_positives = fields.at(4);
  estimate.effective_negatives = fields.at(5);
  return estimate;
}

SampleSummary summary_of(const Fields& fields) {
  return {fields.at(0), fields.at(1), fields.at(2)};
}

ExpectedAreas areas_of(const Fields& fields) {
  return {fields.at(0), fields.at(1), fields.at(2), fields.at(3)};
}

struct Statistics final : torch::CustomClassHolder {};

void define_intervals(torch::class_<Statistics>& c) {
  c.def_static("wilson_interval",
               [](double successes, double n, double level) {
                 return fields_of(wilson_interval(successes, n, level));
               })
      .def_static(
          "clopper_pearson_interval",
          [](double successes, double n, double level) {
            return fields_of(clopper_pearson_interval(successes, n, level));
          })
      .def_static(
          "newcombe_interval",
          [](double area, double positives, double negatives, double level) {
            return fields_of(
                newcombe_interval(area, positives, negatives, level));
          })
      .def_static(
          "delong",
          [](const Tensor& scores, const Tensor& target,
             const std::optional<Tensor>& weight) {
            return fields_of(delong(scores, target, weight.value_or(Tensor())));
          })
      .def_static(
          "delong_interval",
          [](const Fields& estimate, double level) {
            return fields_of(delong_interval(estimate_of(estimate), level));
          })
      .def_static(
          "paired_difference_interval",
          [](std::int64_t both, std::int64_t first_only,
             std::int64_t second_only, std::int64_t neither, double level) {
            return fields_of(paired_difference_interval(
                both, first_only, second_only, neither, level));
          })
      .def_static("difference_interval",
                  [](double successes1, double n1, double successes2, double n2,
                     double level) {
                    return fields_of(difference_interval(
                        successes1, n1, successes2, n2, level));
                  });
}

void define_tests(torch::class_<Statistics>& c) {
  c.def_static("mcnemar",
               [](std::int64_t first_only, std::int64_t second_only) -> Fields {
                 const McnemarResult p = mcnemar(first_only, second_only);
                 return {p.exact, p.mid};
               })
      .def_static(
          "compare_areas",
          [](const Tensor& first, const Tensor& second, const Tensor& target,
             double level) {
            return fields_of(compare_areas(first, second, target, level));
          })
      .def_static("compare_proportions",
                  [](double successes1, double n1, double successes2, double n2,
                     double level) -> Fields {
                    const ProportionComparison result = compare_proportions(
                        successes1, n1, successes2, n2, level);
                    return {result.first, result.second, result.difference,
                            result.low,   result.high,   result.p_value};
                  })
      .def_static("compare_areas_unpaired",
                  [](const Fields& first, const Fields& second, double level) {
                    return fields_of(compare_areas_unpaired(
                        estimate_of(first), estimate_of(second), level));
                  })
      .def_static("welch_test",
                  [](const Fields& first, const Fields& second,
                     double level) -> Fields {
                    const WelchResult result = welch_test(
                        summary_of(first), summary_of(second), level);
                    return {result.difference,     result.low,
                            result.high,           result.p_value,
                            result.standard_error, result.degrees};
                  })
      .def_static("equivalence_test",
                  [](double difference, double standard_error, double degrees,
                     double margin, double alpha) {
                    const EquivalenceResult result = equivalence_test(
                        difference, standard_error, degrees, margin, alpha);
                    return std::make_tuple(
                        result.low, result.high, result.non_inferiority_p,
                        result.non_superiority_p, result.equivalence_p,
                        result.is_non_inferior, result.is_equivalent);
                  })
      .def_static("holm", [](const Tensor& p) { return holm(p); })
      .def_static("hochberg", [](const Tensor& p) { return hochberg(p); })
      .def_static("benjamini_hochberg",
                  [](const Tensor& p) { return benjamini_hochberg(p); });
}

void define_planning(torch::class_<Statistics>& c) {
  c.def_static("rows_for_proportion",
               [](double proportion, double width, double level) {
                 return rows_for_proportion(proportion, width, level);
               })
      .def_static("mcnemar_power",
                  [](double first_only, double second_only, std::int64_t rows,
                     double alpha) {
                    return mcnemar_power(first_only, second_only, rows, alpha);
                  })
      .def_static("rows_for_mcnemar",
                  [](double first_only, double second_only, double power,
                     double alpha) {
                    return rows_for_mcnemar(first_only, second_only, power,
                                            alpha);
                  })
      .def_static("expected_area_error",
                  [](double area, double positives, double negatives) {
                    return expected_area_error(area, positives, negatives);
                  })
      .def_static(
          "expected_area_width",
          [](double area, double prevalence, double rows, double level) {
            return expected_area_width(area, prevalence, rows, level);
          })
      .def_static(
          "rows_for_area",
          [](double area, double prevalence, double width, double level) {
            return rows_for_area(area, prevalence, width, level);
          })
      .def_static("compared_areas_power",
                  [](const Fields& areas, double rows, double alpha) {
                    return compared_areas_power(areas_of(areas), rows, alpha);
                  })
      .def_static("rows_for_compared_areas", [](const Fields& areas,
                                                double power, double alpha) {
        return rows_for_compared_areas(areas_of(areas), power, alpha);
      });
}

}  // namespace

void define_statistics(torch::Library& m) {
  auto c = m.class_<Statistics>("Statistics");
  define_intervals(c);
  define_tests(c);
  define_planning(c);
}

}  // namespace tally::python
