// SPDX-License-Identifier: BSD-3-Clause
// The failures of commands that a process has not yet been told: how many, and the first one's message, in its slot, where
// the agent and acpstat read them without the process's help; and the words for people. Knows no command. Writing: who
// holds the lock of the process's commands; reading: any thread of any process that has the segment mapped.
// Tests: tests/unit/node/unreported_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "node/segment.hpp"

namespace acp::node {

struct Unreported {
    std::uint64_t count = 0;
    std::string
        first;  // message of the command that was issued first; at most unreported_bytes_max; "" when count is 0

    // Adds failures that came after those counted here; keeps the first message, where there is memory for it.
    void add(std::uint64_t more, std::string_view message) noexcept;

    friend bool operator==(const Unreported&, const Unreported&) = default;
};

// Where a process tells of its failures. The segment is to outlive it.
class UnreportedPlace {
public:
    //   slot < local_procs
    UnreportedPlace(const Segment& segment, std::uint32_t slot) noexcept
        : has_any_(segment.slot(slot).has_unreported), entry_(segment.unreported(slot)) {}

    // There are none. Does not touch the entry.
    void clear() noexcept;

    // Allocates nothing.   count > 0;   first  cut after unreported_bytes_max
    void write(std::uint64_t count, std::string_view first) noexcept;

    // The count alone, after write(); the message stays.
    void write_count(std::uint64_t count) noexcept;

    // What was written last as a whole; nothing where a writer died on the way.
    [[nodiscard]] Unreported read() const;

private:
    SharedU32& has_any_;
    UnreportedEntry& entry_;
};

// "2 commands failed that no acp_complete or acp_wait has reported; the first: MESSAGE".   unreported  of one or more
[[nodiscard]] std::string describe(const Unreported& unreported);

}  // namespace acp::node
