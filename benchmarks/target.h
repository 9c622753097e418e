#pragma once

namespace tally::benchmarks {

/// Takes --target=NAME out of the arguments, if it is there: everything then
/// runs as on a processor that has nothing newer than the vectors of this
/// Highway target, Tally's kernels as well as ATen's and MKL's, here and in
/// processes that this one starts. Ends the program if there is no such target.
void take_target(int* argc, char** argv);

}  // namespace tally::benchmarks
