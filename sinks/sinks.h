#pragma once

/// Destinations of results: logs, TensorBoard, the terminal.
#include "tally/sinks/csv_sink.h"          // IWYU pragma: export
#include "tally/sinks/json_lines_sink.h"   // IWYU pragma: export
#include "tally/sinks/metric_log.h"        // IWYU pragma: export
#include "tally/sinks/metric_logger.h"     // IWYU pragma: export
#include "tally/sinks/progress.h"          // IWYU pragma: export
#include "tally/sinks/sink.h"              // IWYU pragma: export
#include "tally/sinks/table_sink.h"        // IWYU pragma: export
#include "tally/sinks/tensorboard_sink.h"  // IWYU pragma: export
