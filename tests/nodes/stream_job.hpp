// SPDX-License-Identifier: BSD-3-Clause
// A job whose ranks stream to rank 0, each on a node of its own, as its driver uses it: the rate of
// each stream, and the gateways' counters. One driver thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nodes/stream_board.hpp"
#include "support/board.hpp"
#include "support/job.hpp"

namespace acp::test {

class StreamJob {
public:
    //   faults  for ACP_FAULT, "" for none
    StreamJob(int ranks, const std::string& faults);

    // Waits until each stream has completed a number of copies.
    void warm_up(std::uint64_t copies);

    // Bytes per second of each stream over the time; rank 1 is first.
    [[nodiscard]] std::vector<double> measure(std::int64_t time_ns);

    // The number of datagrams that the kernel has dropped at full receive buffers of all nodes, by
    // acpstat.
    [[nodiscard]] std::uint64_t receive_drops();

    // Ends the streams. Checks that no copy failed, every byte is right, the job ends with 0, and
    // no process of it is left.
    void expect_good_end();

private:
    [[nodiscard]] std::vector<std::uint64_t> bytes_now() const;

    int ranks_;
    Board<StreamBoard> board_;
    Job job_;
};

}  // namespace acp::test
