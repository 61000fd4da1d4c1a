// SPDX-License-Identifier: BSD-3-Clause
// How the agent passes the job's secret to a rank, and the errors where it arrives incomplete.
#include "gateway/own_key.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "unit/gateway/test_job.hpp"

namespace acp::gateway::test {
namespace {

using Key = std::array<std::byte, own_key_bytes>;

class OwnKeyTest : public testing::Test {
protected:
    OwnKeyTest() { job_key_.fill(std::byte{0x5a}); }

    os::FileDescriptor keep() {
        auto kept = keep_own_key(segment_, job_key_, base::Security::encrypt,
                                 crypto::CipherWish::aes_128_gcm);
        EXPECT_TRUE(kept.is_ok()) << kept.failure().message();
        return std::move(kept).value();
    }

    node::Segment segment_ = make_segment({}, 0);
    Key job_key_{};
};

TEST_F(OwnKeyTest, a_rank_reads_what_the_agent_kept_and_that_is_not_the_key_of_the_job) {
    const os::FileDescriptor file = keep();
    Key first{};
    Key second{};
    ASSERT_TRUE(read_own_key(segment_, first).is_ok());
    ASSERT_TRUE(read_own_key(segment_, second).is_ok()) << "again, in a later epoch";
    EXPECT_EQ(first, second);
    EXPECT_NE(first, job_key_);
    EXPECT_NE(first, Key{});
}

TEST_F(OwnKeyTest, all_nodes_derive_the_same_and_other_jobs_something_else) {
    const os::FileDescriptor file = keep();
    Key first{};
    ASSERT_TRUE(read_own_key(segment_, first).is_ok());
    segment_ = make_segment({}, 1);
    const os::FileDescriptor other_node = keep();
    Key second{};
    ASSERT_TRUE(read_own_key(segment_, second).is_ok());
    EXPECT_EQ(first, second);
    job_key_[31] ^= std::byte{1};
    const os::FileDescriptor other_job = keep();
    ASSERT_TRUE(read_own_key(segment_, second).is_ok());
    EXPECT_NE(first, second);
}

TEST_F(OwnKeyTest, a_descriptor_that_was_closed_or_is_another_file_is_named) {
    Key key{};
    EXPECT_EQ(read_own_key(segment_, key).code(), Code::state) << "never kept";
    int number = -1;
    {
        const os::FileDescriptor file = keep();
        number = file.get();
    }
    const base::Status closed = read_own_key(segment_, key);
    EXPECT_EQ(closed.code(), Code::state);
    EXPECT_NE(closed.message().find("descriptor " + std::to_string(number)), std::string::npos);
    segment_.control().own_key.store(static_cast<std::uint32_t>(segment_.file()) + 1);
    EXPECT_EQ(read_own_key(segment_, key).code(), Code::state);
    EXPECT_EQ(key, Key{});
}

}  // namespace
}  // namespace acp::gateway::test
