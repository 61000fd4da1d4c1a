// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a benchmark: rank 0 conducts, the others sleep in acp_sync until it gives them
// something to do. A control block lies at the start of every rank's starter memory: rank 0 copies
// orders to each, and each rank copies results to rank 0's, so ranks may be on any node. Tests that
// share words need all ranks on one node. Knows only the public interface of the library and
// nothing of what is measured. Each rank's main thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <acp.h>

namespace acp::bench {

inline constexpr int ranks_max = 128;  // Results in the control block

// The values that a rank sends to rank 0, or to all others.
struct alignas(64) RankResult {
    std::uint64_t values[8];
};

// The work that rank 0 gives to all others.
struct Order {
    std::uint32_t what = 0;
    std::uint32_t padding = 0;
    std::uint64_t arguments[7] = {};
};

// The start of every rank's starter memory. Knows no pointers: every rank maps it elsewhere.
struct Control {
    alignas(64) Order order;  // written by rank 0 before a sync, read by the rank after it
    // Only those of rank 0 are used, by ranks that have them mapped:
    alignas(128) std::atomic<std::uint64_t> ball;  // rank 0 writes odd, rank 1 answers even
    alignas(128)
        std::atomic<std::uint64_t> word;  // what contending atomics work on; a count of rank 1's
    alignas(128) std::atomic<std::uint64_t> go;  // a clock value at which a phase ends
    alignas(128) RankResult results[ranks_max];  // a rank's own, or rank 0's: those of all
};

// Bytes at the start of every rank's starter memory that are not for measuring.
inline constexpr std::size_t control_bytes = (sizeof(Control) + 4095) / 4096 * 4096;

class Job {
public:
    // Joins by acp_init. With fewer than `ranks_min` ranks it says what to type and ends the
    // process.
    //   hint  "acprun -n 3 acpbench copy"
    Job(int& argc, char**& argv, int ranks_min, const std::string& hint);
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    // Sends the other ranks home when this is rank 0, and leaves by acp_finalize.
    ~Job();

    [[nodiscard]] int rank() const { return rank_; }

    [[nodiscard]] int ranks() const { return ranks_; }

    [[nodiscard]] bool conducts() const { return rank_ == 0; }

    // A rank's starter memory behind the control block; nullptr when it is not mapped here.
    [[nodiscard]] char* starter(int rank) const;
    [[nodiscard]] acp_ga_t starter_ga(int rank) const;

    [[nodiscard]] std::size_t starter_bytes() const { return starter_bytes_; }

    [[nodiscard]] int nodes() const { return nodes_; }

    // The first rank of the node that a rank is on.
    [[nodiscard]] std::uint64_t node_of(int rank) const {
        return first_ranks_[static_cast<std::size_t>(rank)];
    }

    // A rank of another node than rank 0 where there is one, else rank 1.
    [[nodiscard]] int partner() const;

    // Whether the starter memory of every rank is mapped here.
    [[nodiscard]] bool is_one_node() const { return nodes_ == 1; }

    // Ends the process with words about `what` when the job has several nodes.
    void need_one_node(const char* what) const;

    // Rank 0's. Only on its node.
    [[nodiscard]] Control& control() const;

    // Sends a result to rank 0, which reads it by result() after the next acp_sync.
    void tell(const RankResult& result) const;

    // Rank 0: the result that a rank has sent before the last acp_sync.
    [[nodiscard]] const RankResult& result(int rank) const { return own_->results[rank]; }

    // Returns the results of all ranks, on each rank. Collective.
    [[nodiscard]] std::vector<RankResult> exchange(const RankResult& mine) const;

    // Rank 0: hands an order to all others, who are back from the last one when this returns. A
    // rank reads its result after the order that follows.
    void give(const Order& order) const;

    // Rank 0: returns when all are done with the last order.
    void join() const { give(Order{}); }

    // Other ranks: follows orders until rank 0 leaves.
    using Handler = std::function<void(const Order&)>;
    void follow(const Handler& handler);

    // Rank 0: the round trip of a cache line between ranks 0 and 1 at this moment, in ns per trip,
    // median of bursts over about budget_ns; 0 when alone or when they share no memory. Costs one
    // order.
    [[nodiscard]] double round_trip_ns(double budget_ns);

    // All round trips so far.
    [[nodiscard]] const std::vector<double>& round_trips() const { return round_trips_; }

private:
    void find_nodes();
    void answer_balls(const Order& order) const;

    int rank_ = 0;
    int ranks_ = 1;
    std::size_t starter_bytes_ = 0;
    int nodes_ = 1;
    std::vector<std::uint64_t> first_ranks_;  // indexed by rank: the first rank of its node
    Control* own_ = nullptr;
    Control* shared_ = nullptr;  // rank 0's; nullptr on other nodes
    std::vector<double> round_trips_;
    std::uint64_t ball_ = 1;
};

// Prints "acpbench: text" and ends the process with 1.
[[noreturn]] void give_up(const std::string& text);

// give_up() with the message of the library's last failure, unless a call has succeeded.
void must(bool has_succeeded);

// acp_sync that ends the process when a rank is gone.
void sync_all();

}  // namespace acp::bench
