// SPDX-License-Identifier: BSD-3-Clause
// The calls that are meetings of all ranks. Ranks on other nodes compare their numbers, so that
// ranks that have made different calls fail instead of waiting for ever. Pure; any thread.
// Tests: tests/life.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "node/own_meetings.hpp"

namespace acp::api {

enum class WorldCall : std::uint32_t {
    none = node::OwnMeetings::no_call,
    sync,
    init,
    finalize,
    reset,
    register_all,
    create_workspace
};

// Whether a process is in no later call of its epoch.
[[nodiscard]] constexpr bool does_end_epoch(WorldCall call) noexcept {
    return call == WorldCall::finalize || call == WorldCall::reset;
}

// "acp_sync".   call  the number of a WorldCall, from any process
[[nodiscard]] inline std::string_view name_of_world_call(std::uint32_t call) noexcept {
    constexpr std::array<std::string_view, 7> names{
        "no collective call", "acp_sync",         "acp_init",     "acp_finalize",
        "acp_reset",          "acp_register_all", "acp_create_ws"};
    return call < names.size() ? names[call] : std::string_view("an unknown call");
}

}  // namespace acp::api
