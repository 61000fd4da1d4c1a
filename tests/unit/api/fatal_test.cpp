// SPDX-License-Identifier: BSD-3-Clause
// The line with which an error of ACP ends a process, and the mark for the agent in the process's slot.
#include "api/fatal.hpp"

#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "api/library.hpp"
#include "base/config.hpp"
#include "job/identity.hpp"
#include "node/segment.hpp"
#include "os/process.hpp"

#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

class FatalTest : public OneRankJob {};

TEST_F(FatalTest, a_line_names_the_rank_and_the_host_once) {
    const std::string name = "rank 0 on " + os::host_name();
    EXPECT_EQ(own_name(), name);
    EXPECT_EQ(fatal_line("no memory"), "acp: " + name + ": no memory");
    const base::Status failure = in_call("acp_sync", {base::Code::peer, "rank 1 is dead"});
    EXPECT_EQ(failure.code(), base::Code::peer);
    EXPECT_EQ(failure.message(), "acp_sync by " + name + ": rank 1 is dead");
    EXPECT_EQ(fatal_line(failure.message()), "acp: acp_sync by " + name + ": rank 1 is dead");
    EXPECT_TRUE(in_call("acp_sync", {}).is_ok());
}

TEST_F(FatalTest, an_error_in_a_forked_child_ends_it_and_marks_nothing) {
    EXPECT_EXIT(end_by_error("wrong"), testing::KilledBySignal(SIGABRT),
                "acp: process [0-9]+ on .*: wrong\nacp: the process ends; ACP_ON_ERROR=return");
    EXPECT_EXIT(
        {
            mark_abort();
            os::end_by_abort();
        },
        testing::KilledBySignal(SIGABRT), "^$");
    EXPECT_EQ(library().member->slot().own_end.load(), std::uint32_t{0});
}

TEST_F(FatalTest, a_rank_marks_its_slot) {
    node::Slot& slot = library().member->slot();
    mark_abort();
    EXPECT_EQ(slot.own_end.load(), static_cast<std::uint32_t>(node::OwnEnd::by_abort));
    slot.own_end.store(0);
}

// A process that acprun has started, before its acp_init.
class FatalBeforeInitTest : public testing::Test {
protected:
    void SetUp() override {
        if (library().member != nullptr)
            GTEST_SKIP() << "a test before this one has joined a job in this process";
        auto segment = node::Segment::create(node::shape_for(base::Config{}, 2));
        ASSERT_TRUE(segment.is_ok()) << segment.failure().message();
        segment_ = std::move(segment).value();
        for (const std::string& variable : variables()) {
            const std::size_t name_bytes = variable.find('=');
            ASSERT_EQ(::setenv(variable.substr(0, name_bytes).c_str(),
                               variable.c_str() + name_bytes + 1, 1),
                      0);
        }
    }

    void TearDown() override {
        if (!segment_.is_open()) return;
        for (const std::string& variable : variables())
            EXPECT_EQ(::unsetenv(variable.substr(0, variable.find('=')).c_str()), 0);
    }

    [[nodiscard]] std::vector<std::string> variables() const {
        job::Identity identity;
        identity.rank = identity.slot = 1;
        identity.procs = 2;
        identity.node_file = segment_.file();
        return job::environment_of(identity);
    }

    // The mark of the slot, and that of the other one, after a process has ended by an error.
    void expect_marks(node::OwnEnd own) {
        EXPECT_EXIT(end_by_error("wrong"), testing::KilledBySignal(SIGABRT), "process .*: wrong");
        EXPECT_EQ(segment_.slot(1).own_end.load(), static_cast<std::uint32_t>(own));
        EXPECT_EQ(segment_.slot(0).own_end.load(), std::uint32_t{0});
    }

    node::Segment segment_;
};

TEST_F(FatalBeforeInitTest, an_error_marks_the_slot_that_acprun_gave) {
    expect_marks(node::OwnEnd::by_error);
}

TEST_F(FatalBeforeInitTest, a_process_that_a_rank_has_started_marks_nothing) {
    segment_.slot(1).pid.store(1);  // that of the rank, whose variables the process has inherited
    expect_marks(node::OwnEnd::none);
}

TEST_F(FatalBeforeInitTest, variables_that_name_no_segment_or_slot_mark_nothing) {
    ASSERT_EQ(::setenv("ACP_SLOT", "2", 1), 0);
    expect_marks(node::OwnEnd::none);
    ASSERT_EQ(::setenv("ACP_SLOT", "1", 1), 0);
    ASSERT_EQ(::setenv("ACP_NODE_FD", "0", 1), 0);
    expect_marks(node::OwnEnd::none);
}

}  // namespace
}  // namespace acp::api::test
