#!/bin/sh
# Two models predict the same 400 rows. Each is evaluated by itself, as if on
# another day, and writes its replicates; what is compared are these files. It
# prints:
#
#   first: first.json
#   second: second.json
#   95 % intervals of first - second: jackknife, poisson
#                first    second  difference         low       high           p    n  undefined
#   accuracy    0.8725    0.8125        0.06   0.0145801    0.10542   0.0123298  400          0
#   f1        0.844985  0.749164   0.0958209   0.0384545   0.153187  0.00241696  400          0
#   auroc     0.955547  0.912474   0.0430729   0.0257068   0.060439  5.1951e-05  400          0
#   brier     0.124359  0.140913  -0.0165544  -0.0217622  -0.010756    0.001998  400          0
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
