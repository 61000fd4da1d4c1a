// SPDX-License-Identifier: BSD-3-Clause
// What the measurements between nodes share: rounds of an operation of the library that take turns
// with rounds of bare datagrams between the same two processes, slice by slice. Knows nothing of
// what is measured. Rank 0's main thread; the far rank's part is answer_bare().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bare_udp.hpp"
#include "job.hpp"
#include "options.hpp"
#include "row.hpp"
#include "slices.hpp"

namespace acp::bench {

class NetRounds {
public:
    //   far  the rank of another node that answers bare datagrams
    NetRounds(Job& job, BareUdp& bare, int far, const Options& options);

    // The far rank's part: whether the order was one of these, and then it has been followed.
    static bool answer_bare(const Job& job, BareUdp& bare, const Order& order);

    [[nodiscard]] int slices() const { return slices_; }

    [[nodiscard]] double slice_ns() const { return slice_ns_; }

    // A row with this job's shape and nothing measured.
    [[nodiscard]] Row new_row(const std::string& experiment,
                              const std::string& name,
                              std::uint64_t bytes) const;

    // Rounds of `operations` each, filling about a slice; ns per operation.
    [[nodiscard]] std::vector<double> rounds(const Work& work, std::uint64_t operations) const;

    // A slice of bare round trips of a small datagram; ns each.
    [[nodiscard]] std::vector<double> bare_round_trips();

    // Fills in a row of `work` beside bare round trips of a small datagram.
    Row beside_round_trips(Row row, const Work& work);

    // Fills in a row of `work` beside row.bytes bytes that bare datagrams carry and a small one
    // acknowledges.
    Row beside_transfers(Row row, const Work& work);

    // Fills in a row of `work`, copies of row.bytes, many of them in flight, beside a stream of
    // bare datagrams of the size that the library uses; an extra figure is the rate of the cipher
    // alone.
    //   operations how many copies a round makes
    Row beside_stream(Row row, const Work& work, std::uint64_t operations);

private:
    using Bare = std::function<std::vector<double>()>;  // one slice of it, ns per operation

    Row beside(Row row, const Work& work, std::uint64_t operations, const Bare& bare);
    std::vector<double> bare_slice(std::uint32_t what, const Work& work, std::uint64_t operations);
    double bare_stream_mb_per_s();  // 0 where the other side had no core to count on
    void warm_up(const Work& work, std::uint64_t operations) const;

    Job& job_;
    BareUdp& bare_;
    int far_;
    int slices_;
    double slice_ns_;
};

}  // namespace acp::bench
