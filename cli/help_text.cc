#include "tally/cli/arguments.h"

namespace tally::cli {

const char* const kHelp =
    R"help(Computes metrics from predictions in files, on one process or many.

  tally list [WORD ...]   all metrics and losses, or those with these words in
                          their names (rmse, auc), domain or description;
                          --format json
  tally describe NAME     options and inputs of a metric or loss; --format json,
                          which without NAME is of all, or, of what --config
                          reads, json-schema
  tally evaluate ...      computes values; options:
    -m, --metrics "A(...); name=B(...)"
                                      metrics, named as in `list`, or
    --config FILE                     the same as JSON
    -i, --inputs FILE FILE ...        .npy files, or .txt files with a text in
                                      each line, in the order of the metrics'
                                      inputs, or named: preds=FILE
                                      target=FILE, with blanks or commas
                                      between; several for more references;
                                      or .jsonl files or one .npz file with
                                      all inputs; or
    --csv FILE ... --columns a,b      columns, with commas or blanks between:
                                      a name, first:last for several, or @1 if
                                      the first line has no names; a name with
                                      a comma or colon is in quotes, '"a,b"';
                                      optionally named: preds=a,target=b
                                      (default: matched by name); of .jsonl
                                      files keys, of .npz files arrays
    --jsonl FILE ...                  JSON lines in files of any name
    --coco FILE FILE ...              annotations and results of object
                                      detection, as COCO's .json files (default
                                      metric: MeanAveragePrecision), or of
                                      panoptic segmentation
    --set NAME=FILE ...               one of several data sets, in place of
                                      --inputs, --csv and --coco: files as of
                                      these, told by their names; results are
                                      NAME/metric, and the means over all sets
                                      mean/metric and, by their rows,
                                      weighted_mean/metric
    --folders DIR DIR ...             of the images of panoptic files (default:
                                      named as these, without .json)
    --delimiter C                     field delimiter of --csv: a character or
                                      tab (default: comma)
    --decimal point|comma             of numbers of --csv (default: point)
    --missing error|skip|nan          fields of --csv and values of .jsonl
                                      that are empty, NA, nan, null or the like
                                      (default: error), or one's own words:
                                      skip:-,?
    --encoding E                      of texts: utf-8 (default), utf-16,
                                      latin-1 or windows-1252
    --labels, --class-names cat,dog   names of classes 0, 1, ... in --csv
                                      columns, .jsonl files and tables
    --by a,b                          also the values for each text in these
                                      columns of --csv, or each combination;
                                      with --interval, --ids or --groups also
                                      which of these are worse than the rest
    --slices N                        of these the N with the most rows, and
                                      the others as one (default: all)
    --interval 0.95                   also confidence intervals at this level
    --interval-method M               how, such as jackknife (default: auto)
    --ids a                           ids of the rows: column of --csv, key of
                                      .jsonl, or a file besides .npy and .txt
                                      files (default: their numbers), or
    --groups a                        ids of what rows belong to
    --save FILE                       the states, which merge adds up: of the
                                      metrics, of --by or of --interval
    --part I/N                        which of N parts these are, from 0
    --batch-size N                    rows at a time (default: 16 MB)
    --ranks N                         local processes (default: 1, or those of
                                      the launcher, such as torchrun)
    --split 12,6,0                    rows of each rank (default: even)
    --strict                          warnings are errors
    --quiet                           no warnings and remarks on the standard
                                      error
    --format table|json|csv           output format (default: table)
    -o, --output FILE                 write to FILE instead of standard output
  tally report ...        writes a page of HTML with tables and charts; options:
    those of evaluate except --format, --replicates and --save, or
    --log FILE                        the log.jsonl of a run, with --labels;
                                      of several runs, which are compared:
                                      --log FILE --log FILE
    --title TEXT                      the page's heading
  tally compare A B       compares two models on the same rows: differences,
                          intervals and p-values, from the files that evaluate
                          writes with --replicates; options:
    --level 0.95                      of the intervals (default: 0.95)
    --format table|json|csv           output format (default: table)
    -o, --output FILE                 write to FILE instead of standard output
  tally plan WHAT         how many rows an evaluation needs, or, with --rows N
                          in place of the last option, what N rows give:
    width --proportion P --width W    for an interval of that width
    mcnemar --first-only P --second-only Q --power B
                                      to tell two models apart that alone get
                                      fractions P and Q of the rows right
    auroc --area A --prevalence P --width W
    delong --first A --second B --correlation R --prevalence P --power B
    --level 0.95, --alpha 0.05        of intervals, of tests
    --format table|json, -o, --output FILE
  tally merge FILE ... -o FILE
                          adds up states that evaluate --save or a program has
                          written, each once; --partial: although parts are
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
