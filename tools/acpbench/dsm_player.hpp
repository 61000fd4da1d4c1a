// SPDX-License-Identifier: BSD-3-Clause
// The part of each rank in the experiment `dsm`: rank 0 gives orders, and all ranks follow them. On
// several nodes a rank of another node than rank 0 is the partner: the home of the pages that rank
// 0 touches. Knows no figures. Each rank's main thread.
#pragma once

#include <cstdint>
#include <vector>

#include "grid_rows.hpp"
#include "job.hpp"

namespace acp::bench {

inline constexpr std::uint64_t dsm_page_bytes = 4096;
inline constexpr std::uint64_t dsm_block_pages = 16;  // a fault maps pages of one block at most
inline constexpr std::uint64_t dsm_blocks = 64;
inline constexpr std::uint64_t dsm_pages = dsm_blocks * dsm_block_pages;

class DsmPlayer {
public:
    // What rank 0 orders, all ranks take part.
    enum What : std::uint32_t {
        // arguments: value, pages from one to the next, whether the partner then computes. It
        // writes the value to the first word of pages; a barrier. A partner that computes does so
        // until release().
        write_pages = 1,
        // count; afterwards took_ns() is the mean time of one
        barriers,  // time acp_barrier_dsm
        syncs,     // time acp_sync
        noticed,   // time acp_barrier_dsm after writes to noticed_pages pages of each node
        // count: steps of LAPLACE without a barrier; took_ns() is the time of all
        loops_shared,   // time loops on shared pages
        loops_private,  // time loops on private memory
        close           // the object ends
    };

    // Collective: acp_init_dsm and allocations.
    explicit DsmPlayer(const Job& job);
    DsmPlayer(const DsmPlayer&) = delete;
    DsmPlayer& operator=(const DsmPlayer&) = delete;
    ~DsmPlayer();  // collective: acp_finalize_dsm

    void follow(const Order& order);

    // Rank 0: gives an order, and takes part. The others have ended theirs when join() returns.
    void play(Job& job, What what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) {
        const Order order{what, 0, {a, b, c}};
        job.give(order);
        follow(order);
    }

    // Rank 0: ends the partner's computation.
    void release() const;

    // The partner's pages, dsm_pages of them.
    [[nodiscard]] std::uint64_t* word_of(std::uint64_t page) const {
        return reinterpret_cast<std::uint64_t*>(partners_ + page * dsm_page_bytes);
    }

    // The partner's pages that rank 0 writes, dsm_pages of them.
    [[nodiscard]] char* written_page(std::uint64_t page) const {
        return written_ + page * dsm_page_bytes;
    }

    // Nanoseconds of this rank's part of the last loop, for each barrier or for the whole of it.
    [[nodiscard]] double took_ns() const { return took_ns_; }

    // Pages that a rank of each node writes before a barrier: a notice for each, as many as the
    // first message between nodes carries.
    inline static constexpr std::uint64_t noticed_pages = 118;

private:
    void share_noticed_pages();
    void write(std::uint64_t value, std::uint64_t stride) const;
    void compute_until_released() const;
    void measure_noticed(std::uint64_t count);

    const Job& job_;
    bool is_partner_;
    bool is_first_of_node_;
    char* partners_ = nullptr;
    char* written_ = nullptr;
    char* noticed_ =
        nullptr;  // a run of 2 * noticed_pages for each rank; their homes are the ranks' nodes
    GridRows rows_;
    double* shared_from_ = nullptr;
    double* shared_to_ = nullptr;
    PrivateGrid private_;
    double* private_from_ = nullptr;
    double* private_to_ = nullptr;
    double took_ns_ = 0;
};

}  // namespace acp::bench
