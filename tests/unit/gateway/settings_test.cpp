// SPDX-License-Identifier: BSD-3-Clause
// Settings with which a gateway refuses to start, and its warnings about settings that make it less
// secure. One thread.
#include <gtest/gtest.h>

#include "unit/gateway/test_job.hpp"

namespace acp::gateway::test {
namespace {

class SettingsTest : public testing::Test {
protected:
    SettingsTest() : segment_(make_segment(JobOptions{}, 0)) {
        settings_.nodes = 2;
        settings_.first_process = {0, 1, 2};
        settings_.bind = {engine::emulated_address(0)};
    }

    base::Status open() {
        auto made = Gateway::open(segment_, settings_);
        return made.is_ok() ? base::Status() : std::move(made).failure();
    }

    node::Segment segment_;
    GatewaySettings settings_;
};

TEST_F(SettingsTest, the_least_it_needs_is_enough) {
    const auto status = open();
    EXPECT_TRUE(status.is_ok()) << status.message();
}

TEST_F(SettingsTest, refuses_what_makes_no_job) {
    settings_.node = 2;
    EXPECT_EQ(open().code(), Code::argument);
    settings_.node = 0;
    settings_.first_process = {0, 1};
    EXPECT_EQ(open().code(), Code::argument);
    settings_.first_process = {0, 1, 1};
    EXPECT_EQ(open().code(), Code::argument);
    settings_.first_process = {1, 2, 3};
    EXPECT_EQ(open().code(), Code::argument);
    settings_.first_process = {0, 1, 2};
    settings_.bind.clear();
    EXPECT_EQ(open().code(), Code::argument);
    settings_.bind.assign(engine::sockets_max + 1, engine::emulated_address(0));
    EXPECT_EQ(open().code(), Code::argument);
}

TEST_F(SettingsTest, refuses_an_address_that_is_not_of_this_host) {
    settings_.bind = {datagram::ipv4(192, 0, 2, 1, 0)};
    const auto status = open();
    EXPECT_EQ(status.code(), Code::system);
    EXPECT_NE(status.message().find("192.0.2.1"), std::string::npos) << status.message();
}

TEST_F(SettingsTest, refuses_a_fault_plan_that_does_not_fit) {
    settings_.config.fault = "lose=1";
    EXPECT_EQ(open().code(), Code::config);
}

TEST_F(SettingsTest, no_security_needs_loopback_or_a_named_network) {
    settings_.config.security = base::Security::off;
    testing::internal::CaptureStderr();
    EXPECT_TRUE(open().is_ok());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("security is off"), std::string::npos) << said;
    EXPECT_NE(said.find("127.0.1.1"), std::string::npos) << said;
    settings_.bind = {datagram::ipv4(0, 0, 0, 0, 0)};
    EXPECT_EQ(open().code(), Code::argument);
    settings_.is_interface_named = true;
    EXPECT_TRUE(open().is_ok());
}

TEST_F(SettingsTest, injected_faults_are_reported_on_stderr) {
    settings_.config.fault = "loss=0.5,seed=3";
    testing::internal::CaptureStderr();
    EXPECT_TRUE(open().is_ok());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("faults are injected"), std::string::npos) << said;
    EXPECT_NE(said.find("loss=0.5,seed=3"), std::string::npos) << said;
}

TEST_F(SettingsTest, node_0_alone_reports_settings_that_weaken_the_whole_job) {
    settings_.node = 1;
    settings_.config.security = base::Security::off;
    settings_.config.fault = "loss=0.5";
    testing::internal::CaptureStderr();
    EXPECT_TRUE(open().is_ok());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("security"), std::string::npos) << said;
    EXPECT_EQ(said.find("faults"), std::string::npos) << said;
}

TEST_F(SettingsTest, it_listens_at_the_addresses_that_it_reports) {
    settings_.bind = {engine::emulated_address(0), engine::emulated_address(700)};
    auto made = Gateway::open(segment_, settings_);
    ASSERT_TRUE(made.is_ok());
    const auto all = made.value()->addresses();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_NE(all[0].port, 0U);
    EXPECT_NE(all[1].port, 0U);
    EXPECT_EQ(all[1].ip, engine::emulated_address(700).ip);
}

TEST_F(SettingsTest, peers_must_be_as_many_as_nodes) {
    auto made = Gateway::open(segment_, settings_);
    ASSERT_TRUE(made.is_ok());
    EXPECT_EQ(made.value()->set_peers({{engine::emulated_address(0)}}).code(), Code::argument);
    EXPECT_EQ(made.value()->set_peers({{engine::emulated_address(0)}, {}}).code(), Code::argument);
    EXPECT_TRUE(made.value()
                    ->set_peers({{engine::emulated_address(0)}, {engine::emulated_address(1)}})
                    .is_ok());
}

}  // namespace
}  // namespace acp::gateway::test
