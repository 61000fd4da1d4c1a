// SPDX-License-Identifier: BSD-3-Clause
// Retires the records and arrays of tables: unlinks them, decides which of several threads that
// find a block unlinked retires it, and frees the chains of a long array in parts. The retired
// blocks wait in table/retired_blocks.hpp.
// Tests: tests/unit/table/kill_test.cpp, concurrency_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "table/ground.hpp"
#include "table/retired_blocks.hpp"

namespace acp::table {

// The kinds of blocks that are retired.
enum class Retired : std::uint64_t { record = 0, array = claim::is_array };

template <template <class> class Atomic>
class Reclaimer {
public:
    static constexpr std::uint32_t usual_batch = 512;
    static constexpr std::uint64_t bytes_most = RetiredBlocks<Atomic, Ground<Atomic>>::bytes_most;

    //   ground  outlives this
    explicit Reclaimer(const Ground<Atomic>& ground) noexcept : ground_(ground), retired_(ground) {}

    // Retires a block that is no longer linked, unless another thread has retired it. The caller
    // names the block in a hazard word, or has made it, so that it stays allocated during the call.
    void retire(BlockNumber block, Retired kind) {
        if (claim_and_list(block, kind) && retired_.is_due(ground_.retire_batch())) (void)scan();
    }

    // Replaces the word in the slot of an entry, and retires the entry's record, which the caller
    // names in a hazard word. false: the slot no longer held `word`.
    //   is_ended  0, or unlinking::is_ended
    bool unlink(Atomic<std::uint64_t>& slot,
                std::uint64_t word,
                std::uint64_t instead,
                std::uint64_t is_ended = 0) {
        auto& unlinking = ground_.shown().unlinking;
        unlinking.store(unlinking::of_slot(word) | is_ended, std::memory_order_release);
        std::uint64_t expected = word;
        const bool is_done = slot.compare_exchange_strong(
            expected, instead, std::memory_order_seq_cst, std::memory_order_relaxed);
        if (is_done) retire(slot::record_in(word), Retired::record);
        unlinking.store(0, std::memory_order_release);
        return is_done;
    }

    // Frees the retired blocks of this participant that no hazard word names; of a long array only
    // the chains of some buckets per call. false: see RetiredBlocks::scan().
    bool scan() noexcept { return scan(ground_.own()); }

    // Whether a scan has freed a long array in part. An insertion then calls scan() again, since a
    // thread that only inserts retires no records, and would never call scan() otherwise.
    [[nodiscard]] bool has_begun() const noexcept { return has_begun(ground_.own()); }

    // Frees the retired blocks of a participant, of this thread or a dead one, and long arrays as a
    // whole. True if none is left.
    bool scan_whole(std::uint32_t owner) noexcept {
        while (scan(owner) && has_begun(owner)) {
        }
        return retired_.last_of(owner) == 0;
    }

    // Completes an unlink_and_free() of a dead participant. Called before the participant's other
    // words are cleared, which say whether the block is still linked. false: see table/freeing.hpp.
    [[nodiscard]] bool finish_freeing(std::uint32_t dead) {
        auto& from = ground_.participants()[dead];
        const std::uint64_t linked_by = from.chain.load(std::memory_order_relaxed);
        const auto is_known = [&](BlockNumber block) {
            const bool is_in_chain =
                linked_by != 0 &&
                chain::next_in(
                    linked_by,
                    ground_.word_at(chain::place_in(linked_by)).load(std::memory_order_acquire)) ==
                    block;
            return is_in_chain || from.has_made(block) ||
                   unlinking::block_in(from.unlinking.load(std::memory_order_acquire)) == block ||
                   from.destroying.load(std::memory_order_acquire) == block ||
                   retired_.has(dead, block);
        };
        return table::finish_freeing(ground_.blocks(), ground_.participants(), dead, is_known);
    }

    // Completes retire() of a block for a dead participant: a block that the participant had
    // claimed joins the participant's list, an unclaimed one the caller's.
    void finish_retiring(std::uint32_t dead, BlockNumber block) {
        auto& from = ground_.participants()[dead];
        const std::uint64_t word = claim_of(block);
        if (claim::claimer_in(word) == dead + 1) {  // claimed, but not in its list?
            if (!retired_.has(dead, block)) from.retired.store(block, std::memory_order_release);
            return;
        }
        auto& unlinking = ground_.shown().unlinking;
        unlinking.store(block, std::memory_order_release);  // this thread may be killed too
        const bool is_array = (word & claim::is_array) != 0;
        (void)claim_and_list(block, is_array ? Retired::array : Retired::record);
        unlinking.store(0, std::memory_order_release);
    }

private:
    bool scan(std::uint32_t owner) noexcept {
        return retired_.scan(owner, [this](BlockNumber block) {
            const bool is_array = (claim_of(block) & claim::is_array) != 0;
            return is_array && !free_chains(block) ? bytes_of(block, Retired::array) : 0;
        });
    }

    [[nodiscard]] bool has_begun(std::uint32_t owner) const noexcept {
        return ground_.participants()[owner].retired_bytes.load(std::memory_order_relaxed) >
               bytes_most;
    }

    [[nodiscard]] std::uint64_t claim_of(BlockNumber block) const noexcept {
        return retired_.link_of(block).load(std::memory_order_acquire);
    }

    [[nodiscard]] std::uint64_t bytes_of(BlockNumber block, Retired kind) const noexcept {
        if (kind == Retired::array) return BucketArray<Atomic>::bytes(ground_.array(block).buckets);
        const auto& record = ground_.record(block);
        return EntryRecord<Atomic>::bytes(record.key_bytes, record.value_bytes);
    }

    bool claim_and_list(BlockNumber block, Retired kind) noexcept {
        const std::uint64_t bytes = bytes_of(block, kind);
        auto& link = retired_.link_of(block);
        std::uint64_t word = link.load(std::memory_order_acquire);
        if (claim::claimer_in(word) != 0) return false;
        // acq_rel: of several threads that find the block unlinked, exactly one lists it
        if (!link.compare_exchange_strong(word,
                                          claim::by(ground_.own(), retired_.last_of(ground_.own()),
                                                    static_cast<std::uint64_t>(kind)),
                                          std::memory_order_acq_rel, std::memory_order_acquire)) {
            return false;
        }
        retired_.add(ground_.own(), block, bytes);
        return true;
    }

    // Frees the chains of the next 4096 buckets of a retired array. True when none is left, or the
    // program has overwritten its number of buckets.
    bool free_chains(BlockNumber block) {
        auto& array = ground_.array(block);
        constexpr std::uint64_t at_a_time = 4096;
        // has_begun() recognizes by its bytes that an array of more buckets was freed in part.
        static_assert(BucketArray<Atomic>::bytes(at_a_time) > bytes_most);
        const bool is_whole =
            array.buckets <= ground_.blocks().limit_bytes() / line_bytes &&
            ground_.has_allocated(block, BucketArray<Atomic>::bytes(array.buckets));
        if (!is_whole) return true;
        std::uint64_t index = array.freed.load(std::memory_order_relaxed);
        const std::uint64_t end = std::min(array.buckets, index + at_a_time);
        for (; index < end; ++index) {
            auto& first = array.bucket(index).link;
            for (BlockNumber next = link::next_in(first.load(std::memory_order_relaxed));
                 next != 0 && ground_.has_allocated(next, sizeof(Bucket<Atomic>));) {
                const BlockNumber after =
                    link::next_in(ground_.bucket(next).link.load(std::memory_order_relaxed));
                ground_.shown().chain.store(chain::of_link(ground_.place_of(first)),
                                            std::memory_order_relaxed);
                ground_.unlink_and_free(next, [&] {
                    first.store(link::to(after) | link::made, std::memory_order_release);
                });
                next = after;
            }
        }
        array.freed.store(end, std::memory_order_relaxed);
        ground_.shown().chain.store(0, std::memory_order_relaxed);
        return end == array.buckets;
    }

    const Ground<Atomic>& ground_;
    RetiredBlocks<Atomic, Ground<Atomic>> retired_;
};

}  // namespace acp::table
