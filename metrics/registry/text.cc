#include "tally/metrics/text/text.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_text(Registry& r) {
  r.add<BLEUScore>(
      {"n-grams of tokenized hypotheses that references have.", "[0, 1]"});
  r.add<SacreBLEUScore>(
      {"BLEU of plain texts, tokenized and smoothed as in sacrebleu.",
       "[0, 1]"});
  r.add<CHRFScore>(
      {"n-grams of characters and words in common: chrF, chrF++.", "[0, 1]"});
  r.add<ROUGEScore>(
      {"n-grams and subsequences that summaries and references share.",
       "[0, 1]"});
  r.add<EntityPrecision>(
      {"Fraction of entities predicted by tags that are correct.", "[0, 1]"});
  r.add<EntityRecall>(
      {"Fraction of entities in the target's tags that are found.", "[0, 1]"});
  r.add<EntityF1Score>(
      {"Harmonic mean of precision and recall of tagged entities.", "[0, 1]"});
}

}  // namespace tally::internal
