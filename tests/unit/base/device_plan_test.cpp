// SPDX-License-Identifier: BSD-3-Clause
// The text of ACP_DEVICES.
#include "base/device_plan.hpp"

#include <gtest/gtest.h>
#include <string>

#include "base/config.hpp"

namespace acp::base {
namespace {

using Plans = std::vector<DevicePlan>;

TEST(DevicePlanTest, reads_kinds_sizes_and_steps) {
    EXPECT_EQ(parse_device_plan(""), Plans{});
    EXPECT_EQ(parse_device_plan("far:64M"), (Plans{{64ULL << 20U, 0}}));
    EXPECT_EQ(parse_device_plan("far:4K,far:1T"), (Plans{{4096, 0}, {1ULL << 40U, 0}}));
    EXPECT_EQ(parse_device_plan("far:1M:fail=7"), (Plans{{1ULL << 20U, 7}}));
}

TEST(DevicePlanTest, refuses_everything_else) {
    for (const char* text :
         {"far", "far:", "far:0", "far:4095", "far:2T", "far:64M,", ",far:64M", "far:64M,,far:64M",
          "cuda:0", "proc", "FAR:64M", "far:64M:fail=0", "far:64M:fail=", "far:64M:fails=1",
          "far:64M:fail=1x", "far:64M ", "far: 64M"}) {
        EXPECT_EQ(parse_device_plan(text), std::nullopt) << text;
    }
}

TEST(DevicePlanTest, takes_seven_devices_and_not_eight) {
    std::string list = "far:1M";
    for (std::uint32_t more = 1; more < planned_devices_max; ++more) list += ",far:1M";
    ASSERT_TRUE(parse_device_plan(list).has_value());
    EXPECT_EQ(parse_device_plan(list)->size(), planned_devices_max);
    EXPECT_EQ(parse_device_plan(list + ",far:1M"), std::nullopt);
}

TEST(DevicePlanTest, a_value_that_does_not_fit_is_refused_with_the_kinds_that_exist) {
    const auto parsed = parse_config({"ACP_DEVICES=cuda:0"});
    ASSERT_FALSE(parsed.is_ok());
    EXPECT_EQ(parsed.failure().code(), Code::config);
    const std::string message(parsed.failure().message());
    EXPECT_NE(message.find("ACP_DEVICES=cuda:0"), std::string::npos);
    EXPECT_NE(message.find("far:SIZE"), std::string::npos);
}

}  // namespace
}  // namespace acp::base
