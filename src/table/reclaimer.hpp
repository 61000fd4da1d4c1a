// SPDX-License-Identifier: BSD-3-Clause
// Frees records and arrays that were retired (taken out of use), once no participant names them in
// a hazard word (hazard pointers). Until then they are in the list of the participant that retired
// them. It is linked through the blocks' own first words, so it has no limit and takes no memory;
// survivors take over the list of a dead participant. No thread waits for a stopped one: only the
// blocks that the stopped one names stay allocated.
// Source: M. Michael, Hazard pointers, IEEE TPDS 15 (2004). Tests: tests/unit/table/kill_test.cpp,
// concurrency_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <vector>

#include "table/ground.hpp"

namespace acp::table {

// The kinds of blocks that are retired.
enum class Retired : std::uint64_t { record = 0, array = claim::is_array };

template <template <class> class Atomic>
class Reclaimer {
public:
    static constexpr std::uint32_t usual_batch = 512;
    // The most retired bytes before a scan; blocks that the last scan found named do not count.
    static constexpr std::uint64_t bytes_most = 256 << 10;

    //   ground  outlives this
    explicit Reclaimer(const Ground<Atomic>& ground) noexcept : ground_(ground) {}

    // Retires a block that is no longer linked, unless another thread has retired it. The caller
    // names the block in a hazard word, or has made it, so that it stays allocated during the call.
    void retire(BlockNumber block, Retired kind) {
        const std::uint64_t bytes = bytes_of(block, kind);
        if (!claim_and_list(block, kind)) return;
        auto& own = ground_.shown();
        const std::uint64_t waiting = own.retired_bytes.load(std::memory_order_relaxed) + bytes;
        own.retired_bytes.store(waiting, std::memory_order_relaxed);
        if (own.retired_count.load(std::memory_order_relaxed) % ground_.retire_batch() == 0 ||
            waiting > bytes_most) {
            scan();
        }
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

    // Frees all retired blocks of this participant that no hazard word names; of a long array only
    // the chains of some buckets per call. false: the kernel refused the barrier, or there was no
    // memory for the list of named blocks. Then a later scan frees them.
    bool scan() noexcept {
        // An allocation that finds no room scans for each idle participant. Most have retired
        // nothing, and the barrier interrupts every processor.
        auto& own = ground_.shown();
        if (own.retired.load(std::memory_order_relaxed) == 0) {
            own.retired_bytes.store(0, std::memory_order_relaxed);
            return true;
        }
        const auto order_all = ground_.blocks().order_all();
        if (order_all != nullptr && !order_all()) return false;  // partner: Ground::name
        try {
            free_all_but(named_blocks());
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }

    // Whether a scan has freed a long array in part. An insertion then calls scan() again, since a
    // thread that only inserts retires no records, and would never call scan() otherwise.
    [[nodiscard]] bool has_begun() const noexcept {
        return ground_.shown().retired_bytes.load(std::memory_order_relaxed) > bytes_most;
    }

    // Takes over the list of a dead participant. Called again if the adopting process was killed in
    // it.
    void adopt(std::uint32_t dead) {
        auto& own = ground_.shown();
        auto& from = ground_.participants()[dead];
        finish_adoption(dead);
        const BlockNumber first = from.retired.load(std::memory_order_relaxed);
        if (first == 0) return;
        own.adopting.store(dead + 1, std::memory_order_release);
        BlockNumber last = first;
        (void)for_each_in(first, [&](BlockNumber block) {
            last = block;
            return true;
        });
        auto& word = first_word(last);
        word.store((word.load(std::memory_order_relaxed) & ~number_mask) |
                       own.retired.load(std::memory_order_relaxed),
                   std::memory_order_release);
        own.retired.store(first, std::memory_order_release);
        from.retired.store(0, std::memory_order_release);
        own.adopting.store(0, std::memory_order_release);
        own.retired_count.fetch_add(from.retired_count.load(std::memory_order_relaxed),
                                    std::memory_order_relaxed);
        from.retired_count.store(0, std::memory_order_relaxed);
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
                   is_listed(dead, block);
        };
        return table::finish_freeing(ground_.blocks(), ground_.participants(), dead, is_known);
    }

    // Completes retire() of a block for a dead participant: a block that the participant had
    // claimed joins the participant's list, an unclaimed one the caller's.
    void finish_retiring(std::uint32_t dead, BlockNumber block) {
        auto& from = ground_.participants()[dead];
        auto& first = first_word(block);
        std::uint64_t word = first.load(std::memory_order_acquire);
        if (claim::claimer_in(word) == dead + 1) {  // claimed, but not in its list?
            if (!is_listed(dead, block)) from.retired.store(block, std::memory_order_release);
            return;
        }
        auto& unlinking = ground_.shown().unlinking;
        unlinking.store(block, std::memory_order_release);  // this thread may be killed too
        const bool is_array = (word & claim::is_array) != 0;
        (void)claim_and_list(block, is_array ? Retired::array : Retired::record);
        unlinking.store(0, std::memory_order_release);
    }

private:
    // The position of a scan in the list of retired blocks.
    struct Keeper {
        const Ground<Atomic>& ground;
        Participant<Atomic>& own;
        BlockNumber last = 0;  // the last block that stays

        // Removes the block after `last` from the list; `next` follows then.
        void take_out(BlockNumber next) noexcept {
            if (last == 0) {
                own.retired.store(next, std::memory_order_release);
                return;
            }
            auto& word = ground.record(last).claim;
            word.store((word.load(std::memory_order_relaxed) & ~number_mask) | next,
                       std::memory_order_release);
        }
    };

    [[nodiscard]] Atomic<std::uint64_t>& first_word(BlockNumber block) const noexcept {
        return ground_.record(block).claim;  // an array begins alike
    }

    [[nodiscard]] std::uint64_t bytes_of(BlockNumber block, Retired kind) const noexcept {
        if (kind == Retired::array) return BucketArray<Atomic>::bytes(ground_.array(block).buckets);
        const auto& record = ground_.record(block);
        return EntryRecord<Atomic>::bytes(record.key_bytes, record.value_bytes);
    }

    [[nodiscard]] BlockNumber before(BlockNumber block) const noexcept {
        return claim::before_in(first_word(block).load(std::memory_order_relaxed));
    }

    // Calls visit(block) -> bool for each block of a list of retired ones, until that returns
    // false. false: it has, or the program has overwritten a block's first word, and the rest of
    // the list is unknown.
    template <typename Visit>
    bool for_each_in(BlockNumber first, const Visit& visit) const {
        CircleFinder circle;
        for (BlockNumber block = first; block != 0; block = before(block)) {
            const bool is_one = ground_.has_block(block, signed_bytes) && !circle.is_back_at(block);
            if (!is_one || !visit(block)) return false;
        }
        return true;
    }

    bool claim_and_list(BlockNumber block, Retired kind) noexcept {
        auto& own = ground_.shown();
        auto& first = first_word(block);
        std::uint64_t word = first.load(std::memory_order_acquire);
        if (claim::claimer_in(word) != 0) return false;
        const BlockNumber before = own.retired.load(std::memory_order_relaxed);
        // acq_rel: of several threads that find the block unlinked, exactly one lists it
        if (!first.compare_exchange_strong(
                word, claim::by(ground_.own(), before, static_cast<std::uint64_t>(kind)),
                std::memory_order_acq_rel, std::memory_order_acquire)) {
            return false;
        }
        own.retired.store(block, std::memory_order_release);
        own.retired_count.fetch_add(1, std::memory_order_relaxed);
        return true;
    }

    [[nodiscard]] bool is_listed(std::uint32_t participant, BlockNumber block) const noexcept {
        bool is_found = false;
        (void)for_each_in(
            ground_.participants()[participant].retired.load(std::memory_order_relaxed),
            [&](BlockNumber one) {
                is_found = one == block;
                return !is_found;
            });
        return is_found;
    }

    // Repairs the lists of a participant that was killed in adopt(): its list and the adopted one
    // may be joined already.
    void finish_adoption(std::uint32_t dead) noexcept {
        auto& half = ground_.participants()[dead];
        const std::uint64_t adopted = half.adopting.load(std::memory_order_acquire);
        if (adopted == 0) return;
        auto& from = ground_.participants()[static_cast<std::uint32_t>(adopted - 1)];
        const BlockNumber own_first = half.retired.load(std::memory_order_relaxed);
        const BlockNumber first = from.retired.load(std::memory_order_relaxed);
        if (first != 0 &&
            (own_first == first || is_listed(static_cast<std::uint32_t>(adopted - 1), own_first))) {
            half.retired.store(first, std::memory_order_release);
            from.retired.store(0, std::memory_order_release);
        }
        half.adopting.store(0, std::memory_order_release);
    }

    // The blocks that participants name in hazard words, have made and not linked yet, or retire,
    // sorted. A block in a dead participant's `unlinking` counts, because recovery still uses it.
    // Throws std::bad_alloc.
    [[nodiscard]] std::vector<BlockNumber> named_blocks() const {
        std::vector<BlockNumber> named;
        const auto note = [&named](BlockNumber block) {
            if (block != 0) named.push_back(block);
        };
        for (std::uint32_t i = 0; i < ground_.participants().count; ++i) {
            const auto& other = ground_.participants()[i];
            // seq_cst: these loads come after the store that made a block unreachable; partner:
            // Ground::name
            for (const auto& hazard : other.hazard) note(hazard.load(std::memory_order_seq_cst));
            note(made::block_in(other.record_made.load(std::memory_order_seq_cst)));
            // After the hazards, which named the block when this was stored, and may name another
            // one since.
            note(unlinking::block_in(other.unlinking.load(std::memory_order_seq_cst)));
        }
        std::sort(named.begin(), named.end());
        return named;
    }

    void free_all_but(const std::vector<BlockNumber>& named) {
        auto& own = ground_.shown();
        Keeper keeper{ground_, own};
        std::uint64_t kept = 0;
        std::uint64_t begun_bytes = 0;
        CircleFinder circle;
        for (BlockNumber block = own.retired.load(std::memory_order_relaxed); block != 0;) {
            // The program has overwritten the word that leads here: what follows stays allocated.
            if (!ground_.has_allocated(block, signed_bytes) || circle.is_back_at(block)) {
                keeper.take_out(0);
                break;
            }
            const std::uint64_t word = first_word(block).load(std::memory_order_relaxed);
            const BlockNumber next = claim::before_in(word);
            const bool is_array = (word & claim::is_array) != 0;
            const bool is_named = std::binary_search(named.begin(), named.end(), block);
            const bool is_begun = !is_named && is_array && !free_chains(block);
            if (is_named || is_begun) {
                keeper.last = block;
                ++kept;
                if (is_begun) begun_bytes += bytes_of(block, Retired::array);
            } else {
                ground_.unlink_and_free(block, [&] { keeper.take_out(next); });
            }
            block = next;
        }
        own.retired_count.store(kept, std::memory_order_relaxed);
        own.retired_bytes.store(begun_bytes, std::memory_order_relaxed);
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
};

}  // namespace acp::table
