// SPDX-License-Identifier: BSD-3-Clause
// Batches, slots and rounds. See exchange.hpp.
#include "exchange.hpp"

#include <algorithm>

namespace kmer {

Exchange::Exchange(Job& job, std::size_t batch, std::size_t inbox_bytes)
    : job_(job),
      procs_(static_cast<std::uint32_t>(job.procs())),
      rank_(static_cast<std::uint32_t>(job.rank())),
      slot_words_(head_words + batch),
      slots_(std::max<std::size_t>(procs_, inbox_bytes / (slot_words_ * sizeof(std::uint64_t)))),
      inbox_(slots_ * slot_words_),
      outboxes_(std::size_t{2} * procs_ * slot_words_),
      slot_for_(procs_),
      cursors_(procs_),
      boxes_(procs_),
      inboxes_(procs_) {
    std::fill_n(slot_for_.at(0), procs_, rank_);
    for (std::uint32_t owner = 0; owner < procs_; ++owner) open_batch(owner);
}

void Exchange::begin() {
    job_.board().inbox = inbox_.ga(0);
    job_.board().slots_taken = procs_;
    job_.checkpoint();
    for (std::uint32_t owner = 0; owner < procs_; ++owner) {
        inboxes_[owner] =
            job_.fetch(Job::board_ga(static_cast<int>(owner), offsetof(Board, inbox)));
    }
}

void Exchange::finish() {
    bool again = true;
    while (again) {
        bool has_unsent = false;
        for (std::uint32_t owner = 0; owner < procs_; ++owner) has_unsent |= !try_send(owner);
        again = end_round(has_unsent);
    }
}

Counted Exchange::counted() {
    SpectrumMaker spectrum;
    table_.for_each_count([&](std::uint64_t count) { spectrum.add(count); });
    return {spectrum.take(), table_.total(), table_.distinct()};
}

void Exchange::send_full(std::uint32_t owner) {
    while (!try_send(owner)) end_round(true);
}

// Sends the batch being filled, unless it is empty, and opens the other. False, and nothing
// changed, when the owner's inbox is full.
bool Exchange::try_send(std::uint32_t owner) {
    Outbox& box = boxes_[owner];
    const std::size_t at = batch_at(owner, box.filling);
    std::uint64_t* hashes = outboxes_.at(at) + head_words;
    const auto count = static_cast<std::size_t>(cursors_[owner].next - hashes);
    if (count == 0) return true;

    if (owner == rank_) {
        table_.add({hashes, count});
        cursors_[owner].next = hashes;
        return true;
    }
    acp_complete(box.drawn);
    const std::uint64_t slot = *slot_for_.at(owner);
    if (slot >= slots_) return false;

    *outboxes_.at(at) = count;
    box.sent[box.filling] =
        acp_copy(inboxes_[owner] + slot * slot_words_ * sizeof(std::uint64_t), outboxes_.ga(at),
                 (head_words + count) * sizeof(std::uint64_t), ACP_HANDLE_NULL);
    box.drawn = acp_add8(slot_for_.ga(owner),
                         Job::board_ga(static_cast<int>(owner), offsetof(Board, slots_taken)), 1,
                         ACP_HANDLE_NULL);
    box.filling ^= 1U;
    acp_complete(box.sent[box.filling]);  // its copy began a whole batch ago
    open_batch(owner);
    return true;
}

void Exchange::open_batch(std::uint32_t owner) {
    std::uint64_t* hashes = outboxes_.at(batch_at(owner, boxes_[owner].filling)) + head_words;
    cursors_[owner] = {hashes, hashes + slot_words_ - head_words};
}

// Meets the other ranks, counts what has arrived and empties the inbox. Batches still being filled
// stay where they are. Returns whether any rank needs another round. Collective: two checkpoints.
bool Exchange::end_round(bool need_another) {
    const acp_ga_t unfinished =
        Job::board_ga(0, offsetof(Board, unfinished) + (round_ & 1U) * sizeof(std::uint64_t));
    if (need_another) job_.add(unfinished, 1);
    job_.checkpoint();

    // All batches are here, and nobody draws a slot before the next checkpoint.
    count_inbox();
    job_.board().slots_taken = procs_;
    std::fill_n(slot_for_.at(0), procs_, rank_);
    const bool another = job_.fetch(unfinished) != 0;
    ++round_;
    // The other parity's counter was last read before the checkpoint above.
    if (job_.is_first()) job_.board().unfinished[round_ & 1U] = 0;
    job_.checkpoint();
    return another;
}

// A slot that was drawn and not used holds a batch of none.
void Exchange::count_inbox() {
    const std::size_t used = std::min<std::size_t>(slots_, job_.board().slots_taken);
    for (std::size_t slot = 0; slot < used; ++slot) {
        std::uint64_t* batch = inbox_.at(slot * slot_words_);
        table_.add({batch + head_words, batch[0]});
        batch[0] = 0;
    }
}

}  // namespace kmer
