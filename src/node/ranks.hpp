// SPDX-License-Identifier: BSD-3-Clause
// The mapping between processes and ranks. Process indexes and addresses are fixed for life;
// acp_reset permutes the ranks. Until the first reset both are equal and neither table is touched;
// from then on the node segment holds both directions, and during a reset the requests of all
// processes of the job. Member::gather uses the room of the requests for other numbers. Each node
// judges the same requests in the same way, so all reach the same verdict. rank_of and process_of
// are Segment's.
// The process of slot 0 makes the calls between two meetings; all processes call verdict().
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

    // The requests: the rank that each process of the job wants, by process index. In a job of one
    // node slot 0's process collects them from the slots; in a job of several the gateway writes
    // what it gathered.
    void collect() noexcept;
    void write(std::span<const std::uint32_t> wanted) noexcept;

    // Tests whether the requests are a permutation, and stores the verdict for all processes of the
    // node.
    void judge();

    // ok, or argument: out of range or requested twice, naming the process.
    [[nodiscard]] base::Status verdict() const;

    // Applies the requests, after a good verdict.
    void apply() noexcept;

private:
    enum RankVerdict : std::uint32_t { good, out_of_range, taken };

    [[nodiscard]] std::uint32_t wanted(std::uint32_t process) const noexcept;
    void keep(RankVerdict verdict, std::uint32_t process, std::uint32_t other) noexcept;

    const Segment& segment_;
};

}  // namespace acp::node
