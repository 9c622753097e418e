#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tally/examples/digits/options.h"
#include "tally/tests/testing/refusal.h"

namespace digits {
namespace {

Options parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "digits");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

std::string refusal_of(const std::vector<std::string>& arguments) {
  return tally::testkit::refusal_of([&] { parse(arguments); });
}

TEST(DigitsOptionsTest, ReadsBothForms) {
  const Options options =
      parse({"--ranks", "5", "--epochs=3", "--batch-size", "10", "--lr=1e-2",
             "--seed=4", "--data=/a=b.csv", "--json", "/c.json"});
  EXPECT_EQ(options.ranks(), 5);
  EXPECT_EQ(options.epochs(), 3);
  EXPECT_EQ(options.batch_size(), 10);
  EXPECT_EQ(options.lr(), 0.01);
  EXPECT_EQ(options.seed(), 4);
  EXPECT_EQ(options.data(), "/a=b.csv");
  EXPECT_EQ(options.json(), "/c.json");
  EXPECT_FALSE(options.help());
  EXPECT_FALSE(options.verbose());
  EXPECT_TRUE(parse({"--verbose", "--ranks=3"}).verbose());
  EXPECT_TRUE(parse({"--help"}).help());
  EXPECT_EQ(parse({}).ranks(), 2);
}

TEST(DigitsOptionsTest, TakesPathsFromWhereTheUserIs) {
  setenv("BUILD_WORKING_DIRECTORY", "/home/user", 1);
  const Options options = parse({"--data=a.csv", "--json=/tmp/b.json"});
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(options.data(), "/home/user/a.csv");
  EXPECT_EQ(options.json(), "/tmp/b.json");
  EXPECT_EQ(parse({"--data=a.csv"}).data(), "a.csv");
}

TEST(DigitsOptionsTest, SaysWhatIsWrong) {
  EXPECT_EQ(refusal_of({"train"}),
            "digits: expected an option, got 'train'; see --help");
  EXPECT_EQ(refusal_of({"--epoch"}),
            "digits: unknown option 'epoch'; did you mean 'epochs'?");
  EXPECT_EQ(refusal_of({"--ranks"}),
            "digits: option 'ranks': expected an integer, got ''");
  EXPECT_EQ(refusal_of({"--json"}),
            "digits: option 'json': expected a value, got none");
  EXPECT_EQ(refusal_of({"--ranks=1", "--ranks=2"}),
            "digits: option 'ranks' is given twice");
  EXPECT_EQ(refusal_of({"--ranks=0"}),
            "digits: option 'ranks': expected 1 to 64, got 0");
  EXPECT_EQ(refusal_of({"--epochs=0"}),
            "digits: option 'epochs': expected 1 to 1000000, got 0");
  EXPECT_EQ(refusal_of({"--batch-size=-1"}),
            "digits: option 'batch-size': expected 1 to 100000, got -1");
  EXPECT_EQ(refusal_of({"--seed=-1"}),
            "digits: option 'seed': expected 0 to 1000000000, got -1");
  EXPECT_EQ(refusal_of({"--lr=0"}),
            "digits: option 'lr': expected a positive number, got 0");
  EXPECT_EQ(refusal_of({"--lr=inf"}),
            "digits: option 'lr': expected a positive number, got inf");
  EXPECT_EQ(refusal_of({"--lr=fast"}),
            "digits: option 'lr': expected a number, got 'fast'");
}

}  // namespace
}  // namespace digits
