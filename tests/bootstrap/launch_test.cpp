#include "bootstrap/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>

#include "base/file_descriptor.hpp"

namespace wia {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Result<Launch> detect(const Variables& variables) {
  return detect_launch([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

Launch good(const Variables& variables) {
  Result<Launch> launch = detect(variables);
  EXPECT_TRUE(launch.ok()) << launch.status().text();
  return launch.ok() ? std::move(*launch) : Launch();
}

std::string error(const Variables& variables) {
  const Result<Launch> launch = detect(variables);
  EXPECT_FALSE(launch.ok());
  EXPECT_EQ(launch.status().code(), Code::invalid_argument);
  return launch.status().text();
}

TEST(Launch, AloneIsAWorldOfOne) {
  const Launch launch = good({{"PATH", "/bin"}, {"WIA_RANK", ""}});
  EXPECT_EQ(launch.launcher, "none");
  EXPECT_EQ(launch.size, 1);
  EXPECT_TRUE(launch.ports.empty());
}

TEST(Launch, Wia) {
  const Launch launch = good({{"WIA_RANK", "2"},
                              {"WIA_WORLD_SIZE", "4"},
                              {"WIA_MASTER_ADDR", "127.0.0.1"},
                              {"WIA_MASTER_PORT", "4711"},
                              {"WIA_JOB_ID", "job"},
                              {"WIA_JOB_SECRET", "secret"},
                              {"WIA_STORE_SERVED", "1"},
                              {"OMPI_COMM_WORLD_RANK", "0"}});
  EXPECT_EQ(launch.launcher, "wia");
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.identity.job, "job");
  EXPECT_EQ(launch.identity.secret, "secret");
  EXPECT_EQ(launch.identity.world_size, 4);
  EXPECT_EQ(launch.master_host, "127.0.0.1");
  EXPECT_EQ(launch.ports, std::vector<int>{4711});
  EXPECT_TRUE(launch.store_is_served);
}

TEST(Launch, WiaOnOneHostMeetsByTheJobsName) {
  const Launch launch = good({{"WIA_RANK", "0"}, {"WIA_WORLD_SIZE", "2"}, {"WIA_JOB_ID", "job"}});
  EXPECT_EQ(launch.master_host, "");
  EXPECT_EQ(launch.ports, ports_of_job("job"));
  EXPECT_FALSE(launch.store_is_served);
  EXPECT_THAT(error({{"WIA_RANK", "0"}, {"WIA_WORLD_SIZE", "2"}}),
              HasSubstr("set WIA_MASTER_ADDR and WIA_MASTER_PORT (or WIA_JOB_ID"));
  EXPECT_TRUE(good({{"WIA_RANK", "0"}, {"WIA_WORLD_SIZE", "1"}}).ports.empty());
}

TEST(Launch, WiaErrorsNameVariablesAndValues) {
  EXPECT_THAT(error({{"WIA_RANK", "1"}}), HasSubstr("WIA_RANK=1 without WIA_WORLD_SIZE"));
  EXPECT_THAT(error({{"WIA_WORLD_SIZE", "2"}}), HasSubstr("WIA_WORLD_SIZE=2 without WIA_RANK"));
  EXPECT_THAT(error({{"WIA_RANK", "2"}, {"WIA_WORLD_SIZE", "2"}}),
              HasSubstr("WIA_RANK=2 is too large for WIA_WORLD_SIZE=2"));
  EXPECT_THAT(error({{"WIA_RANK", "-1"}, {"WIA_WORLD_SIZE", "2"}}), HasSubstr("WIA_RANK=\"-1\""));
  EXPECT_THAT(error({{"WIA_RANK", "0"}, {"WIA_WORLD_SIZE", "two"}}), HasSubstr("WIA_WORLD_SIZE=\"two\""));
  const Variables ranks = {{"WIA_RANK", "0"}, {"WIA_WORLD_SIZE", "2"}, {"WIA_MASTER_ADDR", "h"}};
  EXPECT_THAT(error(ranks), HasSubstr("WIA_MASTER_ADDR=h, WIA_MASTER_PORT=(not set): set both"));
  for (const char* port : {"0", "65536", "http"}) {
    Variables with_port = ranks;
    with_port["WIA_MASTER_PORT"] = port;
    EXPECT_THAT(error(with_port), HasSubstr(fmt::format("WIA_MASTER_PORT=\"{}\"", port)));
  }
}

TEST(Launch, TorchrunLeavesTheMasterPortToItsAgent) {
  const Variables variables = {{"RANK", "3"},
                               {"WORLD_SIZE", "8"},
                               {"MASTER_ADDR", "node0"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_RUN_ID", "run7"}};
  const Launch launch = good(variables);
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.master_host, "node0");
  EXPECT_EQ(launch.ports.front(), 29501);
  EXPECT_EQ(launch.ports.size(), 8u);
  EXPECT_EQ(launch.identity.job, "torchrun/run7/node0:29500");

  Variables high = variables;
  high["MASTER_PORT"] = "65535";
  EXPECT_EQ(good(high).ports.front(), 65534);
}

TEST(Launch, TorchrunIncomplete) {
  EXPECT_EQ(good({{"RANK", "1"}}).launcher, "none");
  EXPECT_EQ(good({{"WORLD_SIZE", "4"}}).launcher, "none");
  EXPECT_THAT(error({{"RANK", "1"}, {"WORLD_SIZE", "2"}}),
              HasSubstr("MASTER_ADDR and MASTER_PORT are not set"));
  EXPECT_THAT(error({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}}),
              HasSubstr("MASTER_ADDR=h, MASTER_PORT=(not set)"));
  EXPECT_THAT(error({{"TORCHELASTIC_RUN_ID", "x"}}), HasSubstr("RANK is not set"));
  EXPECT_THAT(error({{"TORCHELASTIC_RUN_ID", "x"}, {"RANK", "0"}}), HasSubstr("RANK=0 without WORLD_SIZE"));
}

const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                            {"PMIX_NAMESPACE", "2063794177"},
                            {"PMIX_RANK", "1"}};

TEST(Launch, OpenMpiOnOneHost) {
  const Launch launch = good(kOpenMpi);
  EXPECT_EQ(launch.launcher, "openmpi");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.master_host, "");
  EXPECT_EQ(launch.identity.job, "openmpi/2063794177");
  EXPECT_EQ(launch.ports, ports_of_job(launch.identity.job));
}

TEST(Launch, OpenMpiOnSeveralHosts) {
  Variables variables = kOpenMpi;
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_THAT(error(variables),
              HasSubstr("set WIA_MASTER_ADDR to a host name of rank 0 and WIA_MASTER_PORT"));
  variables["SLURM_JOB_NODELIST"] = "nid[0012-0015]";
  EXPECT_EQ(good(variables).master_host, "nid0012");
  variables["WIA_MASTER_ADDR"] = "10.0.0.1";
  variables["WIA_MASTER_PORT"] = "4711";
  EXPECT_EQ(good(variables).master_host, "10.0.0.1");
  EXPECT_EQ(good(variables).ports, std::vector<int>{4711});
}

TEST(Launch, MpichAndIntelMpi) {
  Variables variables = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_JOBID", "j5"}, {"MPI_LOCALNRANKS", "2"}};
  const Launch launch = good(variables);
  EXPECT_EQ(launch.launcher, "mpich");
  EXPECT_EQ(launch.identity.job, "mpich/j5");
  variables["MPI_LOCALNRANKS"] = "1";
  EXPECT_THAT(error(variables), HasSubstr("on several hosts"));
}

TEST(Launch, MpichWithoutAJobIdIsKnownByItsProcessManager) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const FileDescriptor near(pair[0]), far(pair[1]);
  const Launch launch = good({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_FD", std::to_string(near.get())}});
  EXPECT_EQ(launch.identity.job, fmt::format("mpich/{}/{}", getuid(), getpid()));
  EXPECT_THAT(error({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}),
              HasSubstr("nothing in the environment names the job"));
  EXPECT_EQ(good({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"WIA_JOB_ID", "mine"}}).identity.job, "mine");
}

TEST(Launch, PmixNeedsANumberOfRanks) {
  Variables variables = {{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "ns"}};
  EXPECT_THAT(error(variables), HasSubstr("set WIA_WORLD_SIZE"));
  variables["WIA_WORLD_SIZE"] = "2";
  const Launch launch = good(variables);
  EXPECT_EQ(launch.launcher, "pmix");
  EXPECT_EQ(launch.size, 2);
  EXPECT_EQ(launch.identity.job, "pmix/ns");
}

const Variables kSlurm = {{"SLURM_PROCID", "5"},
                          {"SLURM_NTASKS", "8"},
                          {"SLURM_JOB_ID", "77"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_STEP_NUM_TASKS", "8"},
                          {"SLURM_STEP_NUM_NODES", "1"},
                          {"SLURM_STEP_NODELIST", "nid[0012-0015]"}};

TEST(Launch, SlurmStep) {
  const Launch launch = good(kSlurm);
  EXPECT_EQ(launch.launcher, "slurm");
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.identity.job, "slurm/77.0");
  EXPECT_EQ(launch.master_host, "");
  Variables many = kSlurm;
  many["SLURM_STEP_NUM_NODES"] = "4";
  EXPECT_EQ(good(many).master_host, "nid0012");
  EXPECT_EQ(good(many).ports, launch.ports);
}

TEST(Launch, SlurmStepThroughPmix) {
  Variables variables = kSlurm;
  variables["PMIX_RANK"] = "5";
  variables["PMIX_NAMESPACE"] = "slurm.pmix.77.0";
  EXPECT_EQ(good(variables).launcher, "pmix");
  EXPECT_EQ(good(variables).size, 8);
}

TEST(Launch, ABatchScriptIsNoTask) {
  Variables variables = kSlurm;
  variables.erase("SLURM_STEP_ID");
  EXPECT_EQ(good(variables).launcher, "none");
}

TEST(Launch, AContradictionIsAnError) {
  Variables variables = kOpenMpi;
  variables["WIA_WORLD_SIZE"] = "3";
  EXPECT_THAT(error(variables), HasSubstr("WIA_WORLD_SIZE=3, but openmpi started 4 ranks"));
}

TEST(Launch, PortsOfJobs) {
  const std::vector<int> ports = ports_of_job("job");
  EXPECT_EQ(ports, ports_of_job("job"));
  EXPECT_NE(ports, ports_of_job("job2"));
  EXPECT_EQ(std::set<int>(ports.begin(), ports.end()).size(), 8u);
  for (const int port : ports) EXPECT_TRUE(port >= 20'000 && port < 32'000) << port;
}

TEST(Launch, FirstOfANodeList) {
  EXPECT_EQ(first_of_node_list("nid001"), "nid001");
  EXPECT_EQ(first_of_node_list("nid001,nid002"), "nid001");
  EXPECT_EQ(first_of_node_list("nid[0012-0015,0020],gpu3"), "nid0012");
  EXPECT_EQ(first_of_node_list("gpu3,nid[0012-0015]"), "gpu3");
  EXPECT_EQ(first_of_node_list("nid[7]"), "nid7");
  EXPECT_EQ(first_of_node_list("rack[1-2]node[3-4]"), "rack1node");
  EXPECT_EQ(first_of_node_list("nid[0012"), "");
  EXPECT_EQ(first_of_node_list(""), "");
}

}  // namespace
}  // namespace wia
