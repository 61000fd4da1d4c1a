// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK: a thread that waits in a collective call on a team looks now and then whether the member that it waits for has called something
// in which all ranks meet instead (team/meeting_mark.hpp), so that both would wait for ever. It is sure of it where that member has been in one
// and the same such call for a while, during all of which it was waited for: what it had published or sent before has come by then.
// For the one thread that is in a call on the team. Tests: tests/conformance/team_check_test.cpp.
#pragma once

#include <cstdint>

#include "gma/gma.hpp"
#include "node/awaited.hpp"

namespace acp::team {

class MeetingWatch {
public:
    // How often a thread looks.
    static constexpr std::int64_t look_ns = 250'000'000;

    //   gma  outlives this
    explicit MeetingWatch(gma::Gma& gma) noexcept : gma_(gma) {}

    // The call that the member is in, or none.   process  of the member; that of a member which is gone is in none
    node::AwaitedCall look(std::uint32_t process, std::uint64_t now_ns);

private:
    // Longer than a member that has found the team broken takes to tell others (Team::await_reason).
    static constexpr std::uint64_t patience_ns = 2'000'000'000;

    gma::Gma& gma_;
    std::uint32_t process_ = 0;   // that was looked at last
    std::uint64_t word_ = 0;      // what it showed
    std::uint64_t since_ns_ = 0;  // since when
};

}  // namespace acp::team
