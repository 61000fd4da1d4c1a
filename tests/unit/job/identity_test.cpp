// SPDX-License-Identifier: BSD-3-Clause
// The identity of a process, read from environments of acprun, of no launcher, and of other
// launchers.
#include "job/identity.hpp"

#include <gtest/gtest.h>

namespace acp::job {
namespace {

using Environment = std::vector<std::string>;

void expect_refused(const Environment& environment, const std::string& part) {
    const auto identity = identity_of(environment);
    ASSERT_FALSE(identity.is_ok());
    EXPECT_EQ(identity.failure().code(), base::Code::config);
    EXPECT_NE(identity.failure().message().find(part), std::string::npos)
        << identity.failure().message();
}

TEST(IdentityTest, without_a_launcher_a_process_is_rank_0_of_1) {
    for (const Environment& environment :
         {Environment{}, Environment{"PATH=/bin", "ACP_RANK=3", "ACP_PROCS=8"},
          Environment{"ACP_NODE_FDX=3"}}) {
        const auto identity = identity_of(environment);
        ASSERT_TRUE(identity.is_ok());
        EXPECT_FALSE(identity.value().is_launched());
        EXPECT_EQ(identity.value().rank, 0U);
        EXPECT_EQ(identity.value().procs, 1U);
    }
}

TEST(IdentityTest, reads_what_the_launcher_wrote) {
    const NodeSocket socket = NodeSocket::invent();
    const Identity written{
        .rank = 1048575, .procs = 1048576, .slot = 1023, .node_file = 77, .node_socket = socket};
    Environment environment = environment_of(written);
    environment.insert(environment.begin(),
                       // Outside acprun, whose variables take precedence.
                       "OMPI_COMM_WORLD_SIZE=8");
    const auto identity = identity_of(environment);
    ASSERT_TRUE(identity.is_ok()) << identity.failure().message();
    EXPECT_TRUE(identity.value().is_launched());
    EXPECT_EQ(identity.value().rank, written.rank);
    EXPECT_EQ(identity.value().procs, written.procs);
    EXPECT_EQ(identity.value().slot, written.slot);
    EXPECT_EQ(identity.value().node_file, written.node_file);
    ASSERT_TRUE(identity.value().node_socket.has_value());
    EXPECT_EQ(identity.value().node_socket->text(), socket.text());
}

TEST(IdentityTest, a_rank_may_have_inherited_nothing) {
    const NodeSocket socket = NodeSocket::invent();
    const auto identity = identity_of(
        environment_of({.rank = 1, .procs = 2, .slot = 1, .node_file = -1, .node_socket = socket}));
    ASSERT_TRUE(identity.is_ok()) << identity.failure().message();
    EXPECT_TRUE(identity.value().is_launched());
    EXPECT_EQ(identity.value().node_file, -1);
    EXPECT_EQ(identity.value().rank, 1U);
}

TEST(IdentityTest, a_program_below_a_rank_may_be_a_job_of_its_own) {
    Environment environment = environment_of(
        {.rank = 1, .procs = 2, .slot = 1, .node_file = 3, .node_socket = NodeSocket::invent()});
    environment.emplace_back("ACP_SINGLETON=1");
    const auto identity = identity_of(environment);
    ASSERT_TRUE(identity.is_ok()) << identity.failure().message();
    EXPECT_FALSE(identity.value().is_launched());
    EXPECT_EQ(identity.value().procs, 1U);
    environment.back() = "ACP_SINGLETON=0";
    EXPECT_TRUE(identity_of(environment).value().is_launched());
}

TEST(IdentityTest, names_a_socket_that_does_not_parse) {
    const std::string right = NodeSocket::invent().text();
    for (const std::string& text :
         {std::string(), std::string(":"), right.substr(1), right.substr(0, right.size() - 1),
          right + "0", "acp-0123456789abcdeg:" + std::string(32, '0'),
          right.substr(0, right.find(':'))}) {
        Environment environment =
            environment_of({.rank = 1, .procs = 2, .slot = 1, .node_file = 3});
        environment.push_back("ACP_NODE_SOCKET=" + text);
        expect_refused(environment, "ACP_NODE_SOCKET=");
    }
}

TEST(IdentityTest, names_a_variable_that_is_missing_or_does_not_parse) {
    const Environment whole = environment_of({.rank = 1, .procs = 2, .slot = 1, .node_file = 3});
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const std::string name = whole[i].substr(0, whole[i].find('='));
        for (const char* value :
             {"", "x", "1x", "-1", " 1", "4294967296", "99999999999999999999"}) {
            Environment environment = whole;
            environment[i] = name + "=" + value;
            expect_refused(environment, environment[i] + " ");
        }
        if (name != "ACP_NODE_FD") {
            Environment environment = whole;
            environment.erase(environment.begin() + static_cast<std::ptrdiff_t>(i));
            expect_refused(environment, name + "=(unset)");
        }
    }
}

TEST(IdentityTest, refuses_a_rank_outside_of_the_job) {
    expect_refused(environment_of({.rank = 2, .procs = 2, .slot = 0, .node_file = 3}),
                   "ACP_RANK=2");
    expect_refused(environment_of({.rank = 0, .procs = 0, .slot = 0, .node_file = 3}),
                   "ACP_RANK=0");
    expect_refused(environment_of({.rank = 1, .procs = 2, .slot = 2, .node_file = 3}),
                   "ACP_SLOT=2");
    expect_refused({"ACP_NODE_FD=2147483648", "ACP_RANK=0", "ACP_PROCS=1", "ACP_SLOT=0"},
                   "ACP_NODE_FD");
}

TEST(IdentityTest, explains_another_launchers_job) {
    for (const char* name :
         {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS",
          "FLUX_JOB_SIZE", "MV2_COMM_WORLD_SIZE", "JSM_NAMESPACE_SIZE"}) {
        const std::string variable = std::string(name) + "=4";
        expect_refused({variable}, variable + " says that another launcher");
        expect_refused({variable}, "acprun -n 4");
        EXPECT_TRUE(identity_of({variable, "ACP_SINGLETON=1"}).is_ok());
        EXPECT_TRUE(identity_of({std::string(name) + "=1"}).is_ok())
            << "a job of one rank needs no launcher";
        EXPECT_TRUE(identity_of({std::string(name) + "=many"}).is_ok());
    }
}

TEST(IdentityTest, only_a_1_is_a_wish_to_be_alone) {
    expect_refused({"PMI_SIZE=4", "ACP_SINGLETON=0"}, "another launcher");
    EXPECT_TRUE(identity_of({"ACP_SINGLETON=0"}).is_ok());
    EXPECT_TRUE(identity_of({"ACP_SINGLETON="}).is_ok());
}

TEST(IdentityTest, explains_a_rank_of_another_launcher_without_a_size) {
    for (const char* name : {"PMIX_RANK", "PALS_RANKID", "ALPS_APP_PE"}) {
        const std::string variable = std::string(name) + "=0";
        expect_refused({variable}, variable + " says that another launcher");
        expect_refused({variable}, "ACP_SINGLETON=1");
        EXPECT_TRUE(identity_of({variable, "ACP_SINGLETON=1"}).is_ok());
        EXPECT_TRUE(identity_of({variable, "PMI_SIZE=1"}).is_ok())
            << "a job of one rank needs no launcher";
        EXPECT_TRUE(identity_of({std::string(name) + "=x"}).is_ok());
    }
}

}  // namespace
}  // namespace acp::job
