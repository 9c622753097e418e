#include "tally/python/csrc/library.h"

namespace tally::python {
namespace {

// A class has to be known before others name it.
TORCH_LIBRARY(tally, m) {
  define_metrics(m);
  define_losses(m);
  define_interval_metric(m);
  define_model_comparison(m);
  define_metric_logger(m);
  define_sliced_metric(m);
  define_functions(m);
  define_plots(m);
}

}  // namespace
}  // namespace tally::python
