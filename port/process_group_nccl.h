#pragma once

// c10d::ProcessGroupNCCL; needs a LibTorch with CUDA and NCCL.
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
