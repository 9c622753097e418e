#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace {

// "f(int) const" of "... MetricOf<A, B<C> >::f(int) const"; empty without.
std::string member_of(const std::string& name, const std::string& type) {
  const std::size_t begin = name.find(' ' + type + '<');
  if (begin == name.npos) return {};
  int depth = 0;
  for (std::size_t i = name.find('<', begin); i < name.size(); ++i) {
    depth += (name[i] == '<') - (name[i] == '>');
    if (depth > 0) continue;
    return name.substr(i + 1, 2) == "::" ? name.substr(i + 3) : std::string();
  }
  return {};
}

// Members that are templates themselves can only be instantiated where they are
// called.
bool is_template(const std::string& member) {
  const std::size_t end = member.find_first_of("<(");
  return end == member.npos || member[end] == '<';
}

TEST(InstancesTest, MembersOfMetricsAndLossesAreCompiledOnce) {
  std::ifstream symbols("tests/labels/symbols.txt");
  std::string name;
  int names = 0;
  for (; std::getline(symbols, name); ++names) {
    for (const char* type :
         {"tally::MetricOf", "tally::losses::internal::LossModule",
          "torch::nn::Cloneable"}) {
      const std::string member = member_of(name, type);
      EXPECT_TRUE(member.empty() || is_template(member)) << name;
    }
  }
  EXPECT_GT(names, 0);
}

}  // namespace
