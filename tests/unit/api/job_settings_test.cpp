// SPDX-License-Identifier: BSD-3-Clause
// Settings that acprun fixed for the job take precedence over a process's command line, and an
// argument without effect is reported.
#include "api/job_settings.hpp"

#include <gtest/gtest.h>

namespace acp::api {
namespace {

node::Shape shape_of(const base::Config& config) {
    node::Shape shape;
    shape.starter_bytes = config.starter_bytes;
    shape.mailbox_kind = static_cast<std::uint32_t>(config.mailbox);
    shape.intranode = static_cast<std::uint32_t>(config.intranode);
    return shape;
}

TEST(JobSettings, AnArgumentThatTheJobOverrulesIsTold) {
    const base::Config at_start;
    base::Config config;
    config.starter_bytes = 1U << 20U;
    const auto warnings = follow_job(config, at_start, shape_of(at_start), {"ACP_STARTER_SIZE=1M"});
    EXPECT_EQ(config.starter_bytes, at_start.starter_bytes);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings.front(),
              "the argument --acp-starter-size 1M has no effect: acprun has fixed "
              "ACP_STARTER_SIZE=64K for the whole job; acprun -x ACP_STARTER_SIZE=1M, or "
              "ACP_STARTER_SIZE=1M in its environment, sets it");
}

TEST(JobSettings, OneThatSaysTheSameIsNot) {
    base::Config config;
    EXPECT_TRUE(follow_job(config, {}, shape_of(config), {"ACP_STARTER_SIZE=65536"}).empty());
}

TEST(JobSettings, TheOthersAreEachProcessesOwn) {
    base::Config config;
    config.is_report_on = true;
    config.peer_timeout_ns = 1;
    const auto warnings =
        follow_job(config, {}, shape_of(config), {"ACP_REPORT=1", "ACP_PEER_TIMEOUT=0.000000001"});
    EXPECT_TRUE(config.is_report_on);
    EXPECT_EQ(config.peer_timeout_ns, base::Config().peer_timeout_ns);
    EXPECT_EQ(warnings.size(), 1U);
}

TEST(JobSettings, WhatAcprunMadeOfItWinsOverTheEnvironment) {
    base::Config made;
    made.mailbox = base::MailboxKind::pairs;
    base::Config config;
    EXPECT_TRUE(follow_job(config, {}, shape_of(made), {}).empty());
    EXPECT_EQ(config.mailbox, base::MailboxKind::pairs);
}

}  // namespace
}  // namespace acp::api
