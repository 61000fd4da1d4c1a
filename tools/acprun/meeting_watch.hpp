// SPDX-License-Identifier: BSD-3-Clause
// While the nodes of a job meet, checks that the agents still answer: once all have been reached,
// each owes the addresses of its machine, and then the address at which its gateway listens. An
// agent that is stopped, or whose host or connection is frozen, would keep the job for ever. Ends
// nothing itself, and is told the time. Main thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "os/poll_set.hpp"

namespace acp::run {

class MeetingWatch {
public:
    // Call after every event while agents owe answers. Each answer starts the time anew.
    //   answers      received since the job began
    //   patience_ns  from one answer to the next
    void expect(std::size_t answers, std::uint64_t patience_ns, std::uint64_t now_ns) noexcept {
        if (answers_ == answers) return;
        answers_ = answers;
        deadline_ns_ = now_ns + patience_ns;
    }

    // No answer is owed.
    void end() noexcept { *this = {}; }

    // When the next answer is overdue; poll_forever while none is owed.
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }

private:
    std::optional<std::size_t> answers_;
    std::uint64_t deadline_ns_ = os::poll_forever;
};

}  // namespace acp::run
