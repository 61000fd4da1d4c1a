// SPDX-License-Identifier: BSD-3-Clause
// Which process sits on which rank. Process indexes and addresses are fixed for life; acp_reset permutes the
// ranks. Until the first reset both are the same and neither table is touched; then the node segment holds both
// directions, and the wishes of the reset under way, for all processes of the job. Member::gather uses the room of the
// wishes for other numbers. Each node decides on the
// same wishes in the same way, so all come to the same verdict. rank_of and process_of are Segment's.
// Calls by the process of slot 0 between two meetings, but for verdict(), which all make.
// Tests: tests/unit/node/ranks_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "node/segment.hpp"

namespace acp::node {

class Ranks {
public:
    //   segment  must outlive this
    explicit Ranks(const Segment& segment) noexcept : segment_(segment) {}

    // The wishes: the rank each process of the job wants, by process index. On one node slot 0's process collects
    // them from the slots; on several the gateway writes what it gathered.
    void collect() noexcept;
    void write(std::span<const std::uint32_t> wanted) noexcept;

    // Looks whether the wishes are a permutation and keeps the verdict for all processes of the node.
    void judge();

    // ok, or argument: out of range, or asked for twice, with who asked.
    [[nodiscard]] base::Status verdict() const;

    // Carries the wishes out; the verdict was good.
    void apply() noexcept;

private:
    enum RankVerdict : std::uint32_t { good, out_of_range, taken };

    [[nodiscard]] std::uint32_t wanted(std::uint32_t process) const noexcept;
    void keep(RankVerdict verdict, std::uint32_t process, std::uint32_t other) noexcept;

    const Segment& segment_;
};

}  // namespace acp::node
