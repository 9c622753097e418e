#include "tally/cli/arguments.h"

namespace tally::cli {

const char* const kHelp =
    R"help(Computes metrics from predictions in files, on one process or many.

  tally list [WORD ...]   all metrics and losses, or those with these words in
                          their names (rmse, auc), domain or description;
                          --format json
  tally describe NAME     options and inputs of a metric or loss; --format json
                          (without NAME: of all), or json-schema, the schema
                          of a --config file
  tally evaluate ...      computes values; options:
    -m, --metrics "A(...); name=B(...)"
                                      metrics, named as in `list`, or
    --config FILE                     the same as JSON
    -i, --inputs FILE FILE ...        .npy files, or .txt files with one text
                                      per line, in the order of the metrics'
                                      inputs, or named: preds=FILE
                                      target=FILE, separated by blanks or
                                      commas; more files are more references;
                                      or .jsonl files or one .npz file with
                                      all inputs; or
    --csv FILE ... --columns a,b      columns, separated by commas or blanks:
                                      a name, first:last for several, or @1 if
                                      the first line has no names; quote names
                                      with a comma or colon: '"a,b"';
                                      optionally named: preds=a,target=b
                                      (default: matched by name); for .jsonl
                                      files keys, for .npz files arrays
    --jsonl FILE ...                  JSON lines in files of any name
    --coco FILE FILE ...              annotations and results of object
                                      detection, as COCO's .json files (default
                                      metric: MeanAveragePrecision), or of
                                      panoptic segmentation
    --set NAME=FILE ...               one of several data sets, in place of
                                      --inputs, --csv and --coco, with files of
                                      these kinds; results are NAME/metric, the
                                      means over all sets mean/metric and,
                                      weighted by rows, weighted_mean/metric
    --folders DIR DIR ...             folders of panoptic images (default: the
                                      names of the .json files, without .json)
    --delimiter C                     field delimiter of --csv: a character or
                                      tab (default: comma)
    --decimal point|comma             decimal separator of --csv (default:
                                      point)
    --missing error|skip|nan          how to handle fields of --csv and values
                                      of .jsonl that are empty, NA, nan, null
                                      or the like (default: error); your own
                                      words: skip:-,?
    --encoding E                      encoding of texts: utf-8 (default),
                                      utf-16, latin-1 or windows-1252
    --labels, --class-names cat,dog   names of classes 0, 1, ... in --csv
                                      columns, .jsonl files and tables
    --by a,b                          also values for each distinct text in
                                      these columns of --csv, or combination of
                                      them; with --interval, --ids or --groups
                                      also which are worse than the rest
    --slices N                        the N slices of --by with the most rows,
                                      the others merged (default: all)
    --interval 0.95                   also confidence intervals at this level
    --interval-method M               method, such as jackknife (default: auto)
    --ids a                           ids of rows: a column of --csv, a key of
                                      .jsonl, or a file alongside .npy and .txt
                                      files (default: row numbers), or
    --groups a                        ids of groups, such as users: rows of a
                                      group are resampled together
    --save FILE                       writes the states, for merge: those of
                                      the metrics, of --by or of --interval
    --part I/N                        these rows are part I of N, from 0
    --replicates FILE                 writes the replicates, for compare
    --batch-size N                    rows per step (default: 16 MB of them)
    --ranks N                         local processes (default: 1, or those of
                                      the launcher, such as torchrun)
    --split 12,6,0                    rows of each rank (default: even)
    --strict                          warnings are errors
    --quiet                           no warnings or remarks on standard error
    --format table|json|csv           output format (default: table)
    -o, --output FILE                 write to FILE instead of standard output
  tally report ...        writes an HTML page with tables and charts; options:
    those of evaluate except --format, --replicates and --save, or
    --log FILE                        the log.jsonl of a run, with --labels;
                                      repeat it to compare several runs
    --title TEXT                      the page's heading
  tally compare A B       compares two models on the same rows: differences,
                          intervals and p-values, from the files that evaluate
                          writes with --replicates; options:
    --level 0.95                      level of the intervals (default: 0.95)
    --format table|json|csv           output format (default: table)
    -o, --output FILE                 write to FILE instead of standard output
  tally plan WHAT         how many rows an evaluation needs, or, with --rows N
                          in place of the last option, what N rows achieve:
    width --proportion P --width W    for an interval of that width
    mcnemar --first-only P --second-only Q --power B
                                      to tell two models apart of which only
                                      the first is correct on a fraction P of
                                      rows, only the second on Q
    auroc --area A --prevalence P --width W
    delong --first A --second B --correlation R --prevalence P --power B
    --level 0.95, --alpha 0.05        level of intervals, of tests
    --format table|json, -o, --output FILE
  tally merge FILE ... -o FILE
                          merges states written by evaluate --save or by a
                          program, each once; --partial: even if parts are
                          missing
  tally show FILE         the values of such a file; --format, --labels,
                          -o, --output FILE
  tally completion SHELL  prints a completion script for bash or zsh
  tally --version

A FILE of - is the standard input. Files compressed by gzip or zstd are read as
they are. A folder, or a pattern in quotes such as 'part-*.csv', is all of its
files in the order of their names.
)help";

}  // namespace tally::cli
