#include "tally/sync/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tally/tests/testing/refusal.h"

namespace tally::sync {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Environment parse(const Variables& variables) {
  return parse_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string error_of(const Variables& variables) {
  return testkit::refusal_of([&] { parse(variables); });
}

const Variables kTorchrun = {{"RANK", "3"},           {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},     {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "node"}, {"MASTER_PORT", "29500"}};

Variables torchrun_with(const std::string& name, const std::string& value) {
  Variables result = kTorchrun;
  result[name] = value;
  return result;
}

Variables torchrun_without(const std::string& name) {
  Variables result = kTorchrun;
  result.erase(name);
  return result;
}

TEST(EnvironmentTest, NothingSetIsOneProcess) {
  const Environment environment = parse({});
  EXPECT_EQ(environment.launcher, "");
  EXPECT_EQ(environment.rank, 0);
  EXPECT_EQ(environment.world_size, 1);
  EXPECT_EQ(environment.local_world_size, 1);
}

TEST(EnvironmentTest, ReadsTorchrun) {
  Variables variables = kTorchrun;
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  variables["TORCHELASTIC_RUN_ID"] = "job";
  variables["TORCHELASTIC_RESTART_COUNT"] = "2";
  variables["GLOO_SOCKET_IFNAME"] = "eth1";
  const Environment environment = parse(variables);
  EXPECT_EQ(environment.launcher, "torchrun");
  EXPECT_EQ(environment.rank, 3);
  EXPECT_EQ(environment.world_size, 4);
  EXPECT_EQ(environment.local_rank, 1);
  EXPECT_EQ(environment.local_world_size, 2);
  EXPECT_EQ(environment.master_address, "node");
  EXPECT_EQ(environment.master_port, 29500);
  EXPECT_TRUE(environment.store_is_hosted);
  EXPECT_EQ(environment.store_prefix, "tally/job/2");
  EXPECT_EQ(environment.interface, "eth1");
}

TEST(EnvironmentTest, KubernetesSetsNoLocalRank) {
  Variables variables = kTorchrun;
  variables.erase("LOCAL_RANK");
  variables.erase("LOCAL_WORLD_SIZE");
  const Environment environment = parse(variables);
  EXPECT_EQ(environment.local_rank, 0);
  EXPECT_EQ(environment.local_world_size, 0);
  EXPECT_FALSE(environment.store_is_hosted);
}

TEST(EnvironmentTest, ReadsMpiAndSlurm) {
  const Variables meeting = {{"MASTER_ADDR", "node"}, {"MASTER_PORT", "1"}};
  Variables open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "4"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  Variables mpich = {{"PMI_RANK", "1"},
                     {"PMI_SIZE", "4"},
                     {"MPI_LOCALRANKID", "1"},
                     {"MPI_LOCALNRANKS", "2"}};
  Variables slurm = {
      {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "1"}};
  for (auto [variables, launcher, local_size] :
       {std::tuple{open_mpi, "Open MPI", 2}, std::tuple{mpich, "MPICH", 2},
        std::tuple{slurm, "Slurm", 0}}) {
    variables.insert(meeting.begin(), meeting.end());
    const Environment environment = parse(variables);
    EXPECT_EQ(environment.launcher, launcher);
    EXPECT_EQ(environment.rank, 1);
    EXPECT_EQ(environment.world_size, 4);
    EXPECT_EQ(environment.local_rank, 1);
    EXPECT_EQ(environment.local_world_size, local_size);
  }
}

TEST(EnvironmentTest, TorchrunGoesBeforeTheOthers) {
  Variables variables = torchrun_with("SLURM_PROCID", "0");
  variables["SLURM_NTASKS"] = "9";
  EXPECT_EQ(parse(variables).launcher, "torchrun");
}

TEST(EnvironmentTest, ShellInASlurmAllocationIsNoRank) {
  EXPECT_EQ(parse({{"SLURM_NTASKS", "4"}}).launcher, "");
  EXPECT_EQ(parse({{"SLURM_PROCID", "0"}}).launcher, "");
}

TEST(EnvironmentTest, StoreFileNeedsNoMaster) {
  const Environment environment = parse(
      {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TALLY_STORE", "/tmp/store"}});
  EXPECT_EQ(environment.store_path, "/tmp/store");
  EXPECT_EQ(environment.master_address, "");
}

TEST(EnvironmentTest, OneRankNeedsNoMeetingPlace) {
  const Environment environment = parse({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  EXPECT_EQ(environment.launcher, "torchrun");
  EXPECT_EQ(environment.world_size, 1);
}

TEST(EnvironmentTest, NonsenseNamesTheVariableAndItsValue) {
  for (const char* value : {"", "x", "1x", " 1", "-1", "99999999999", "4"}) {
    EXPECT_THAT(error_of(torchrun_with("RANK", value)),
                AllOf(HasSubstr("RANK: expected"),
                      HasSubstr("got \"" + std::string(value) + "\"")));
  }
  for (const char* value : {"0", "-4", "four", "4.0"}) {
    EXPECT_THAT(error_of(torchrun_with("WORLD_SIZE", value)),
                AllOf(HasSubstr("WORLD_SIZE: expected an integer"),
                      HasSubstr("got \"" + std::string(value) + "\"")));
  }
  EXPECT_THAT(error_of(torchrun_with("LOCAL_RANK", "2")),
              HasSubstr("LOCAL_RANK: expected an integer from 0 to 1"));
  EXPECT_THAT(error_of(torchrun_with("LOCAL_WORLD_SIZE", "5")),
              HasSubstr("LOCAL_WORLD_SIZE: expected an integer from 1 to 4"));
  for (const char* value : {"0", "65536", "http", ""}) {
    EXPECT_THAT(error_of(torchrun_with("MASTER_PORT", value)),
                HasSubstr("MASTER_PORT: expected an integer from 1 to 65535"));
  }
}

TEST(EnvironmentTest, MissingVariablesAreNamed) {
  EXPECT_EQ(error_of(torchrun_without("RANK")),
            "WORLD_SIZE is \"4\" but RANK is not set");
  EXPECT_EQ(error_of(torchrun_without("WORLD_SIZE")),
            "RANK is \"3\" but WORLD_SIZE is not set");
  EXPECT_THAT(error_of(torchrun_without("MASTER_ADDR")),
              HasSubstr("MASTER_ADDR is not set"));
  EXPECT_THAT(error_of(torchrun_without("MASTER_PORT")),
              HasSubstr("MASTER_PORT is not set"));
  EXPECT_THAT(error_of({{"OMPI_COMM_WORLD_RANK", "0"}}),
              HasSubstr("OMPI_COMM_WORLD_SIZE is not set"));
}

TEST(EnvironmentTest, EqualityLooksAtEverything) {
  const Environment base = parse(kTorchrun);
  EXPECT_TRUE(base == parse(kTorchrun));
  for (const auto& [name, value] :
       Variables{{"RANK", "2"},
                 {"WORLD_SIZE", "5"},
                 {"LOCAL_RANK", "0"},
                 {"LOCAL_WORLD_SIZE", "3"},
                 {"MASTER_ADDR", "other"},
                 {"MASTER_PORT", "1"},
                 {"TALLY_STORE", "/tmp/x"},
                 {"TORCHELASTIC_RESTART_COUNT", "1"},
                 {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                 {"GLOO_SOCKET_IFNAME", "lo"}}) {
    EXPECT_FALSE(base == parse(torchrun_with(name, value))) << name;
  }
}

TEST(EnvironmentTest, ThereIsAMostOfRanks) {
  EXPECT_EQ(parse(torchrun_with("WORLD_SIZE", "65536")).world_size, 65536);
  EXPECT_EQ(error_of(torchrun_with("WORLD_SIZE", "2000000")),
            "WORLD_SIZE: expected an integer from 1 to 65536, got \"2000000\"");
}

}  // namespace
}  // namespace tally::sync
