// SPDX-License-Identifier: BSD-3-Clause
// This rank's part in the job: the boards in starter memory, and how all ranks agree. The rule that
// keeps them together is that every rank passes the same sequence of checkpoints; a rank that
// fails says so on rank 0's board and then goes to its next checkpoint, where all ranks learn of it.
// Knows nothing of k-mers. Run by the main thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include <acp.h>

#include "board.hpp"
#include "failure.hpp"

namespace kmer {

class Job {
public:
    // Call after acp_init, once. Throws Failure when starter memory is too small for the board.
    Job();

    [[nodiscard]] int rank() const { return rank_; }

    [[nodiscard]] int procs() const { return procs_; }

    [[nodiscard]] bool is_first() const { return rank_ == 0; }

    // This rank's own board, to load from and store to.
    [[nodiscard]] Board& board() { return *board_; }

    // The global address of a member of a rank's board: board_ga(0, offsetof(Board, bytes_read)).
    [[nodiscard]] static acp_ga_t board_ga(int rank, std::size_t offset) {
        return acp_query_starter_ga(rank) + offset;
    }

    // The 8-byte word at ga, on any rank. Waits for the answer.
    [[nodiscard]] std::uint64_t fetch(acp_ga_t ga);

    // Adds to the 8-byte word at ga and returns what it was before. Waits for the answer.
    std::uint64_t fetch_add(acp_ga_t ga, std::uint64_t value);

    // Adds to the 8-byte word at ga. Does not wait.
    void add(acp_ga_t ga, std::uint64_t value) const;

    // Completes this rank's commands and waits until every rank has done so. Throws Stopped, on every
    // rank at the same checkpoint, when one has failed. Collective.
    void checkpoint();

    // Runs step on every rank, then passes a checkpoint. What step throws fails the job.
    //   step  may contain checkpoints, the same number on every rank
    // Collective.
    template <typename Step>
    void together(Step&& step) {
        try {
            step();
        } catch (const Stopped&) {
            throw;  // this rank passed the same last checkpoint as all others
        } catch (const std::exception& error) {
            fail(error.what());
        }
        checkpoint();
    }

private:
    void fail(const char* message);
    [[nodiscard]] acp_ga_t first_failed_ga() const;
    std::string fetch_failure(int rank);

    int rank_;
    int procs_;
    Board* board_;
    std::uint64_t checkpoints_ = 0;  // passed so far
};

}  // namespace kmer
