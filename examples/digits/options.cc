#include "tally/examples/digits/options.h"

#include "tally/examples/command_line.h"

namespace digits {
namespace {

constexpr const char* kProgram = "digits";

}  // namespace

const char* const kHelp =
    "Trains a network on images of handwritten digits and reports on it.\n"
    "\n"
    "  --ranks N       number of local processes (default: 2, or those of\n"
    "                  torchrun)\n"
    "  --epochs N      passes over the training images (default: 30)\n"
    "  --batch-size N  images per step, over all ranks (default: 32)\n"
    "  --lr X          learning rate (default: 0.05)\n"
    "  --seed N        seed of the initial weights, the order of the images\n"
    "                  and their distribution over ranks (default: 0)\n"
    "  --data FILE     images to use instead of examples/digits/data\n"
    "  --json FILE     write the loss of each step and the final metrics\n"
    "  --log DIR       log the loss and the metrics of each epoch, for\n"
    "                  TensorBoard and as JSON lines\n"
    "  --verbose       print rank 0's communication account at the end\n"
    "  --help\n";

void Options::visit(tally::OptionVisitor& v) {
  v("ranks", ranks_);
  v("epochs", epochs_);
  v("batch-size", batch_size_);
  v("lr", lr_);
  v("seed", seed_);
  v("data", data_);
  v("json", json_);
  v("log", log_);
  v("verbose", verbose_);
  v("help", help_);
}

void Options::validate(const char* program) const {
  examples::check_range(program, "ranks", ranks_, 1, 64);
  examples::check_range(program, "epochs", epochs_, 1, 1'000'000);
  examples::check_range(program, "batch-size", batch_size_, 1, 100'000);
  examples::check_range(program, "seed", seed_, 0, 1'000'000'000);
  examples::check_positive(program, "lr", lr_);
}

Options parse_command_line(int argc, char** argv) {
  Options options;
  examples::set_options(
      options, kProgram,
      examples::read_command_line(kProgram, argc, argv, {"help", "verbose"}));
  options.data(examples::user_path(options.data()));
  options.json(examples::user_path(options.json()));
  options.log(examples::user_path(options.log()));
  return options;
}

}  // namespace digits
