#include "tally/metrics/text/text.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_text(Registry& r) {
  r.add<WordErrorRate>(
      {"Word errors per word of the references (WER).", "[0, inf]"});
  r.add<CharErrorRate>(
      {"Character errors per character of the references (CER).", "[0, inf]"});
  r.add<MatchErrorRate>(
      {"Fraction of the matches between words that are errors (MER).",
       "[0, 1]"});
  r.add<WordInfoLost>(
      {"Word information of both texts that is lost (WIL).", "[0, 1]"});
  r.add<WordInfoPreserved>(
      {"Word information of both texts that is preserved (WIP).", "[0, 1]"});
  r.add<EditDistance>({"Characters to edit in each text.", "[0, inf]"});
  r.add<TokenErrorRate>(
      {"Error rate of sequences of integer tokens.", "[0, inf]"});
  r.add<TokenEditDistance>(
      {"Tokens to edit in each sequence of integers.", "[0, inf]"});
  r.add<TranslationEditRate>(
      {"Edits and shifts of words per word of the references (TER).",
       "[0, inf]"});
  r.add<ExtendedEditDistance>(
      {"Edits of characters with jumps, per character (EED).", "[0, 1]"});
  r.add<SQuAD>(
      {"Exact match and F1 of answers to questions, in percent.", "[0, 100]"});
  r.add<Perplexity>(
      {"Effective number of tokens that a language model chooses among.",
       "[1, inf]"});
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
