#pragma once

#include <torch/library.h>

namespace tally::python {

void define_metrics(torch::Library& m);
/// These after define_metrics, whose classes they name.
void define_losses(torch::Library& m);
void define_interval_metric(torch::Library& m);
void define_model_comparison(torch::Library& m);
void define_metric_tracker(torch::Library& m);
void define_metric_logger(torch::Library& m);
void define_named_sets(torch::Library& m);
void define_sliced_metric(torch::Library& m);
void define_slice_comparison(torch::Library& m);
void define_functions(torch::Library& m);
void define_plots(torch::Library& m);
void define_progress(torch::Library& m);
void define_statistics(torch::Library& m);

}  // namespace tally::python
