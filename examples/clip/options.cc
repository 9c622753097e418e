#include "tally/examples/clip/options.h"

#include "tally/examples/command_line.h"

namespace clip {
namespace {

constexpr const char* kProgram = "clip";

}  // namespace

const char* const kHelp =
    "Trains two networks to retrieve the right half of a handwritten digit's\n"
    "image by its left half.\n"
    "\n"
    "  --ranks N          number of local processes (default: 2, or those of\n"
    "                     torchrun)\n"
    "  --micro-batches K  micro-batches per rank and step (default: 1)\n"
    "  --epochs N         passes over the training images (default: 20)\n"
    "  --batch-size N     images per step, over all ranks (default: 256)\n"
    "  --lr X             learning rate (default: 0.02)\n"
    "  --seed N           seed of the weights, the order of the images and\n"
    "                     their distribution over ranks (default: 0)\n"
    "  --json FILE        write the loss of each step and the final recalls\n"
    "  --log DIR          log the loss and the recalls of each epoch, for\n"
    "                     TensorBoard and as JSON lines\n"
    "  --help\n";

void Options::visit(tally::OptionVisitor& v) {
  v("ranks", ranks_);
  v("micro-batches", micro_batches_);
  v("epochs", epochs_);
  v("batch-size", batch_size_);
  v("lr", lr_);
  v("seed", seed_);
  v("json", json_);
  v("log", log_);
  v("help", help_);
}

void Options::validate(const char* program) const {
  examples::check_range(program, "ranks", ranks_, 1, 64);
  examples::check_range(program, "micro-batches", micro_batches_, 1, 100'000);
  examples::check_range(program, "epochs", epochs_, 1, 1'000'000);
  examples::check_range(program, "batch-size", batch_size_, 2, 100'000);
  examples::check_range(program, "seed", seed_, 0, 1'000'000'000);
  examples::check_positive(program, "lr", lr_);
}

Options parse_command_line(int argc, char** argv) {
  Options options;
  examples::set_options(
      options, kProgram,
      examples::read_command_line(kProgram, argc, argv, {"help"}));
  options.json(examples::user_path(options.json()));
  options.log(examples::user_path(options.log()));
  return options;
}

}  // namespace clip
