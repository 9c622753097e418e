// Three ranks gather different numbers of rows.

#include <ATen/ops/full.h>
#include <tally/sync/gather.h>
#include <tally/sync/init.h>
#include <tally/sync/launch.h>
#include <tally/version.h>

#include <iostream>

int main(int argc, char** argv) {
  if (auto status = tally::sync::launch_local(3, argc, argv)) return *status;
  const auto ranks = tally::sync::init_from_env();
  const auto all =
      tally::sync::gather_all_tensors(at::full({ranks->rank() + 1}, 7.0));
  if (ranks->rank() == 0) {
    for (const at::Tensor& rows : all) std::cout << rows.numel() << ' ';
    std::cout << "rows, by Tally " << tally::build_info().version << '\n';
  }
  const bool is_right = all.size() == 3 && all[2].numel() == 3;
  return is_right && tally::build_info().optimized ? 0 : 1;
}
