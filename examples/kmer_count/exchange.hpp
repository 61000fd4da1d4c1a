// SPDX-License-Identifier: BSD-3-Clause
// Brings every hash to the rank that owns it, by global memory access alone. An owner's inbox, in its
// registered memory, is an array of slots that hold a batch each. A sender draws a slot with acp_add8 and
// copies a batch into it with acp_copy. It draws the slot while the batch is still being filled, and fills
// a second batch while the first is under way, so that it hardly ever waits for either.
//
// When an inbox is full the round is over: all ranks meet, count what lies in their own inbox, and begin
// with empty ones. Slots 0 .. procs-1 of a round belong to the ranks of these numbers without drawing, so
// every rank gets forward in every round, however small the inboxes are. Run by the main thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <acp.h>

#include "count_table.hpp"
#include "global_array.hpp"
#include "job.hpp"
#include "kmer.hpp"
#include "kmer_counter.hpp"

namespace kmer {

class Exchange : public KmerCounter {
public:
    // Collective.
    //   batch        hashes in a batch, >= 1
    //   inbox_bytes  memory for this rank's inbox; at least one batch from each rank fits in any case
    // Throws Failure when memory cannot be registered, std::bad_alloc. Call begin() before add().
    Exchange(Job& job, std::size_t batch, std::size_t inbox_bytes);

    // Makes the inboxes known to all ranks. Collective: a checkpoint.
    void begin() override;

    // Sends each hash to its owner, sooner or later. May end a round, and so throws Stopped.
    void add(std::span<const std::uint64_t> hashes) override {
        for (const std::uint64_t hash : hashes) push(hash);
    }

    // Sends all that is left, and returns when every hash of every rank is counted. Collective.
    void finish() override;

    [[nodiscard]] Counted counted() override;

private:
    void push(std::uint64_t hash) {
        const std::uint32_t owner = owner_of(hash, procs_);
        Cursor& cursor = cursors_[owner];
        *cursor.next++ = hash;
        if (cursor.next == cursor.end) send_full(owner);
    }

    // Where the next hash for an owner goes: into the body of the batch being filled.
    struct Cursor {
        std::uint64_t* next = nullptr;
        std::uint64_t* end = nullptr;
    };

    // A batch is this many words: the number of its hashes, then the hashes.
    static constexpr std::size_t head_words = 1;

    struct Outbox {
        unsigned filling = 0;                                       // which of the two batches
        acp_handle_t drawn = ACP_HANDLE_NULL;                       // the draw of the slot for it
        acp_handle_t sent[2] = {ACP_HANDLE_NULL, ACP_HANDLE_NULL};  // the batches' last copies
    };

    void send_full(std::uint32_t owner);
    bool try_send(std::uint32_t owner);
    void open_batch(std::uint32_t owner);
    bool end_round(bool need_another);
    void count_inbox();

    [[nodiscard]] std::size_t batch_at(std::uint32_t owner, unsigned which) const {
        return (std::size_t{2} * owner + which) * slot_words_;
    }

    Job& job_;
    CountTable table_;
    const std::uint32_t procs_;
    const std::uint32_t rank_;
    const std::size_t slot_words_;
    const std::size_t slots_;
    GlobalArray<std::uint64_t> inbox_;     // slots_ batches, written by all
    GlobalArray<std::uint64_t> outboxes_;  // two batches for each owner
    GlobalArray<std::uint64_t> slot_for_;  // for each owner, the slot drawn last
    std::vector<Cursor> cursors_;
    std::vector<Outbox> boxes_;
    std::vector<acp_ga_t> inboxes_;  // of all owners
    std::uint64_t round_ = 0;
};

}  // namespace kmer
