// SPDX-License-Identifier: BSD-3-Clause
// The time in which agents must answer while the nodes of a job exchange their addresses. Once all
// agents have been reached, each must send the addresses of its machine, and then the address at
// which its gateway listens. Without a deadline, an agent that is stopped, or whose host or
// connection is frozen, would keep the job waiting for ever. The caller passes the time, and ends
// the job at the deadline. Main thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "os/poll_set.hpp"

namespace acp::run {

class MeetingWatch {
public:
    // Call after every event while answers of agents are missing. Each answer starts the time anew.
    //   answers      received since the job began
    //   patience_ns  from one answer to the next
    void expect(std::size_t answers, std::uint64_t patience_ns, std::uint64_t now_ns) noexcept {
        if (answers_ == answers) return;
        answers_ = answers;
        deadline_ns_ = now_ns + patience_ns;
    }

    // All answers have arrived.
    void end() noexcept { *this = {}; }

    // When the next answer is overdue; poll_forever while none is missing.
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }

private:
    std::optional<std::size_t> answers_;
    std::uint64_t deadline_ns_ = os::poll_forever;
};

}  // namespace acp::run
