#include "tally/python/csrc/library.h"

namespace tally::python {
namespace {

// A class has to be known before others name it.
TORCH_LIBRARY(tally, m) {
  define_metrics(m);
  define_losses(m);
  define_functions(m);
}

}  // namespace
}  // namespace tally::python
