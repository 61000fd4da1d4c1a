// SPDX-License-Identifier: BSD-3-Clause
// How ranks agree, over the boards in starter memory. See job.hpp.
#include "job.hpp"

#include <cstdio>

namespace kmer {

Job::Job() : rank_(acp_rank()), procs_(acp_procs()) {
    if (acp_starter_size() < sizeof(Board)) {
        throw Failure("needs " + std::to_string(sizeof(Board)) + " bytes of starter memory, has " +
                      std::to_string(acp_starter_size()) + ": give acprun a larger --starter-size");
    }
    board_ = static_cast<Board*>(acp_query_address(board_ga(rank_, 0)));
}

std::uint64_t Job::fetch(acp_ga_t ga) {
    const acp_ga_t answer = board_ga(rank_, offsetof(Board, answer));
    acp_complete(acp_copy(answer, ga, sizeof(std::uint64_t), ACP_HANDLE_NULL));
    return board_->answer;
}

std::uint64_t Job::fetch_add(acp_ga_t ga, std::uint64_t value) {
    acp_complete(acp_add8(board_ga(rank_, offsetof(Board, answer)), ga, value, ACP_HANDLE_NULL));
    return board_->answer;
}

void Job::add(acp_ga_t ga, std::uint64_t value) const {
    acp_add8(board_ga(rank_, offsetof(Board, ignored)), ga, value, ACP_HANDLE_NULL);
}

void Job::checkpoint() {
    acp_complete(ACP_HANDLE_ALL);
    if (acp_sync() != 0) acp_abort("kmer_count: a rank is gone");
    const std::uint64_t first_failed = fetch(first_failed_ga());
    ++checkpoints_;
    if (first_failed == 0) return;
    throw Stopped(is_first() ? fetch_failure(static_cast<int>(first_failed - 1)) : "");
}

// Two words take turns, for a fast rank may fail on its way to the next checkpoint while a slow one
// still looks whether somebody failed before this one. None can be two checkpoints ahead.
acp_ga_t Job::first_failed_ga() const {
    return board_ga(0, offsetof(Board, first_failed) + (checkpoints_ & 1U) * sizeof(std::uint64_t));
}

std::string Job::fetch_failure(int rank) {
    const std::size_t offset = offsetof(Board, failure);
    if (rank != rank_) {
        acp_complete(acp_copy(board_ga(rank_, offset), board_ga(rank, offset), failure_text_bytes,
                              ACP_HANDLE_NULL));
    }
    return board_->failure;
}

// Makes this rank's failure the job's, unless another rank was first, and makes every inbox look
// full: the others then come to the end of their round, which is a checkpoint, with their next
// batch.
void Job::fail(const char* message) {
    std::snprintf(board_->failure, sizeof board_->failure, "%s", message);
    const acp_ga_t answer = board_ga(rank_, offsetof(Board, answer));
    acp_complete(acp_cas8(answer, first_failed_ga(), 0, static_cast<std::uint64_t>(rank_) + 1,
                          ACP_HANDLE_NULL));
    constexpr std::uint64_t more_than_any_inbox = std::uint64_t{1} << 40;
    for (int owner = 0; owner < procs_; ++owner) {
        add(board_ga(owner, offsetof(Board, slots_taken)), more_than_any_inbox);
    }
}

}  // namespace kmer
