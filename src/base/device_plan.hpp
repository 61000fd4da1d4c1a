// SPDX-License-Identifier: BSD-3-Clause
// The text of ACP_DEVICES: a list with commas of devices, each with its kind and size. Knows no
// device: device/ makes them. Pure; any thread. Tests: tests/unit/base/device_plan_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace acp::base {

inline constexpr std::uint32_t planned_devices_max = 7;  // device 0 is not counted

// The terms of the list, for messages.
inline constexpr std::string_view device_plan_type = "far:SIZE,...";
inline constexpr std::string_view device_plan_terms =
    "a list with commas of at most 7 devices, each far:SIZE (4K..1T) or, for tests, "
    "far:SIZE:fail=STEP; the kind far is the only one that exists";

// One device.
struct DevicePlan {
    std::uint64_t bytes = 0;
    std::uint64_t fails_at = 0;  // the step in which its engine fails; 0: never

    friend bool operator==(const DevicePlan&, const DevicePlan&) = default;
};

// nullopt: the text is no such list. "" is an empty one.
[[nodiscard]] std::optional<std::vector<DevicePlan>> parse_device_plan(std::string_view text);

}  // namespace acp::base
