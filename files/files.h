#pragma once

/// Files of predictions and targets, read row by row: the readers of the
/// `tally` program.
#include "tally/files/coco_files.h"      // IWYU pragma: export
#include "tally/files/csv.h"             // IWYU pragma: export
#include "tally/files/csv_options.h"     // IWYU pragma: export
#include "tally/files/id_file.h"         // IWYU pragma: export
#include "tally/files/json_lines.h"      // IWYU pragma: export
#include "tally/files/npy.h"             // IWYU pragma: export
#include "tally/files/panoptic_files.h"  // IWYU pragma: export
#include "tally/files/text_file.h"       // IWYU pragma: export
