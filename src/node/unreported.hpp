// SPDX-License-Identifier: BSD-3-Clause
// The failed commands that no call has reported to the process yet: their number, and the first
// one's message, in the process's slot, where the agent and acpstat read them without its help; and
// a sentence about them. Knows no command. Writers hold the lock of the process's commands;
// readers: any thread of any process that has the segment mapped.
// Tests: tests/unit/node/unreported_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "node/segment.hpp"

namespace acp::node {

struct Unreported {
    std::uint64_t count = 0;
    // message of the failed command that was issued first; at most unreported_bytes_max; "" when
    // count is 0
    std::string first;

    // Adds later failures; keeps the first message, if there is memory for it.
    void add(std::uint64_t more, std::string_view message) noexcept;

    friend bool operator==(const Unreported&, const Unreported&) = default;
};

// The place of a process's unreported failures. The segment must outlive it.
class UnreportedPlace {
public:
    //   slot < local_procs
    UnreportedPlace(const Segment& segment, std::uint32_t slot) noexcept
        : has_any_(segment.slot(slot).has_unreported), entry_(segment.unreported(slot)) {}

    // Marks that there are none. Does not touch the entry.
    void clear() noexcept;

    // Allocates nothing.   count > 0;   first  cut after unreported_bytes_max
    void write(std::uint64_t count, std::string_view first) noexcept;

    // Writes the count alone, after write(); the message stays.
    void write_count(std::uint64_t count) noexcept;

    // The last complete entry; empty if a writer died in its write.
    [[nodiscard]] Unreported read() const;

private:
    SharedU32& has_any_;
    UnreportedEntry& entry_;
};

// "2 commands failed that no acp_complete or acp_wait has reported; the first: MESSAGE".
// unreported  of one or more
[[nodiscard]] std::string describe(const Unreported& unreported);

}  // namespace acp::node
