#pragma once

#include <torch/library.h>

namespace tally::python {

void define_metrics(torch::Library& m);
/// After define_metrics, whose classes it names.
void define_losses(torch::Library& m);
void define_functions(torch::Library& m);

}  // namespace tally::python
