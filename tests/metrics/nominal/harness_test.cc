#include <gtest/gtest.h>

#include "tally/metrics/nominal/nominal.h"
#include "tally/tests/testing/metric_harness.h"

namespace tally {
namespace {

using testkit::check_metric;

TEST(NominalHarnessTest, CramersV) { check_metric<CramersV>("CramersV"); }
TEST(NominalHarnessTest, TschuprowsT) {
  check_metric<TschuprowsT>("TschuprowsT");
}
TEST(NominalHarnessTest, PearsonsContingencyCoefficient) {
  check_metric<PearsonsContingencyCoefficient>(
      "PearsonsContingencyCoefficient");
}
TEST(NominalHarnessTest, TheilsU) { check_metric<TheilsU>("TheilsU"); }
TEST(NominalHarnessTest, CramersVMatrix) {
  check_metric<CramersVMatrix>("CramersVMatrix");
}
TEST(NominalHarnessTest, TschuprowsTMatrix) {
  check_metric<TschuprowsTMatrix>("TschuprowsTMatrix");
}
TEST(NominalHarnessTest, PearsonsContingencyCoefficientMatrix) {
  check_metric<PearsonsContingencyCoefficientMatrix>(
      "PearsonsContingencyCoefficientMatrix");
}
TEST(NominalHarnessTest, TheilsUMatrix) {
  check_metric<TheilsUMatrix>("TheilsUMatrix");
}
TEST(NominalHarnessTest, FleissKappa) {
  check_metric<FleissKappa>("FleissKappa");
}

}  // namespace
}  // namespace tally
