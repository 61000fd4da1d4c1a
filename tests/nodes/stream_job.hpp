// SPDX-License-Identifier: BSD-3-Clause
// A job whose ranks stream to rank 0, each on a node of its own, seen from its driver: how much came through in a
// time, and what its gateways counted. One driver thread.
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

    // Lets the streams get going: until each has brought so many copies through.
    void warm_up(std::uint64_t copies);

    // Bytes per second of each stream over the time, rank 1 first.
    [[nodiscard]] std::vector<double> measure(std::int64_t time_ns);

    // Datagrams the kernel dropped so far because a receive buffer of any node was full, as acpstat shows.
    [[nodiscard]] std::uint64_t receive_drops();

    // Ends the streams. Nothing failed, every byte is right, and the job ends well; no process of it is left.
    void expect_good_end();

private:
    [[nodiscard]] std::vector<std::uint64_t> bytes_now() const;

    int ranks_;
    Board<StreamBoard> board_;
    Job job_;
};

}  // namespace acp::test
