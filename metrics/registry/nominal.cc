#include "tally/metrics/nominal/nominal.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_nominal(Registry& r) {
  r.add<CramersV>(
      {"How strongly two categorical variables are associated.", "[0, 1]"});
  r.add<CramersVMatrix>({"Cramer's V of every two columns.", "[0, 1]"});
  r.add<TschuprowsT>(
      {"Association that is 1 only for as many categories.", "[0, 1]"});
  r.add<TschuprowsTMatrix>({"Tschuprow's T of every two columns.", "[0, 1]"});
  r.add<PearsonsContingencyCoefficient>(
      {"Association by chi-squared over itself and the samples.", "[0, 1)"});
  r.add<PearsonsContingencyCoefficientMatrix>(
      {"Pearson's contingency coefficient of every two columns.", "[0, 1]"});
  r.add<TheilsU>(
      {"The fraction of the entropy of preds that target explains.", "[0, 1]"});
  r.add<TheilsUMatrix>({"Theil's U of every two columns.", "[0, 1]"});
  r.add<FleissKappa>(
      {"How far several raters agree beyond chance.", "[-1, 1]"});
}

}  // namespace tally::internal
