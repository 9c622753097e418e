#!/bin/sh
# Two models predict the same 400 rows. Each is evaluated by itself, as if on
# another day, and writes its replicates; what is compared are these files. It
# prints:
#
#   first: first.json
#   second: second.json
#   95% intervals of first - second: mcnemar, jackknife
#                first    second  difference         low        high            p    n  undefined
#   accuracy    0.8725    0.8125        0.06   0.0235042     0.09735   0.00126356  400          0
#   f1        0.844985  0.749164   0.0958209   0.0462868    0.144885  0.000214843  400          0
#   auroc     0.955547  0.912474   0.0430729   0.0264628   0.0596593  1.50307e-06  400          0
#   brier     0.124359  0.140913  -0.0165544  -0.0221891  -0.0109186  8.41473e-08  400          0
set -eu
cd "$(mktemp -d)"
awk 'BEGIN {
  print "id,label,first,second"
  for (i = 0; i < 400; ++i) {
    label = i * 7 % 10 < 4
    noise = (i * 37 % 101) / 101
    a = (0.7 * label + noise + 0.3 * (i * 53 % 89) / 89) / 2
    b = (0.5 * label + noise + 0.3 * (i * 29 % 97) / 97) / 2
    printf "row%d,%d,%.4f,%.4f\n", i, label, a, b
  }
}' >rows.csv
for model in first second; do
  ${TALLY:-tally} evaluate --csv rows.csv --columns "preds=$model,target=label" \
    -m "accuracy=BinaryAccuracy; f1=BinaryF1Score; auroc=BinaryAUROC; brier=BinaryBrierScore" \
    --ids id --replicates "$model.json" -o "$model.txt"
done
${TALLY:-tally} compare first.json second.json
