// SPDX-License-Identifier: BSD-3-Clause
// A thread's view of the memory of a heap's tables, and the words in which it publishes the blocks
// that it reads and is about to change. The lowest layer of the operations: these are classes that
// hold a Ground, and other operations built on it, and no other state. So they are constructed
// where they are called, at no cost.
// Tests: tests/unit/table.
#pragma once

#include <atomic>
#include <cstdint>

#include "table/blocks.hpp"
#include "table/circle_finder.hpp"
#include "table/freeing.hpp"
#include "table/layout.hpp"

namespace acp::table {

// The memory, and the hazard words of one thread: all that a lookup needs. Cheap to copy.
template <template <class> class Atomic>
class ReadGround {
public:
    using Word = Atomic<std::uint64_t>;
    using Shown = Participant<Atomic>;

    //   base         address of the heap's offset 0 in this process
    //   limit_bytes  every block lies below this offset
    //   shown        this thread's own participant
    //   is_fence_paid_by_others  the thread that frees blocks executes a barrier in all threads
    //                            (Blocks::order_all)
    ReadGround(char* base,
               std::uint64_t limit_bytes,
               Shown& shown,
               bool is_fence_paid_by_others) noexcept
        : base_(base),
          end_(base + limit_bytes),
          granules_(limit_bytes / heap::granule_bytes),
          shown_(shown),
          is_fence_paid_by_others_(is_fence_paid_by_others) {}

    [[nodiscard]] Shown& shown() const noexcept { return shown_; }

    [[nodiscard]] char* address(BlockNumber block) const noexcept {
        return base_ + offset_of(block);
    }

    // Whether a block of this number and length lies within the heap. For numbers in words that the
    // program may have overwritten.
    [[nodiscard, gnu::always_inline]] bool has_block(BlockNumber block,
                                                     std::uint64_t bytes) const noexcept {
        return is_within(granules_ * heap::granule_bytes, block, bytes);
    }

    // Whether the head of a record of this number does so.
    [[nodiscard, gnu::always_inline]] bool has_head(BlockNumber record) const noexcept {
        static_assert(EntryRecord<Atomic>::head_bytes == heap::granule_bytes);
        return record - 1 < granules_;
    }

    // Whether a record with its key and value does so.
    [[nodiscard]] bool has_record(BlockNumber block) const noexcept {
        if (!has_head(block)) return false;
        const auto& one = record(block);
        return has_block(block, EntryRecord<Atomic>::bytes(one.key_bytes, one.value_bytes));
    }

    // Whether a record whose head lies within the heap has this key.
    [[nodiscard, gnu::always_inline]] bool has_key(BlockNumber block,
                                                   const void* key,
                                                   std::uint32_t bytes) const noexcept {
        return record(block).has_key(key, bytes, end_);
    }

    // The bucket that a link of a chain leads to. nullptr: the program has overwritten the link,
    // which leads out of the heap or back to an earlier bucket.
    //   circle  of the walk over this chain
    [[nodiscard]] Bucket<Atomic>* bucket_after(BlockNumber next,
                                               CircleFinder& circle) const noexcept {
        const bool is_one = has_block(next, sizeof(Bucket<Atomic>)) && !circle.is_back_at(next);
        return is_one ? &bucket(next) : nullptr;
    }

    // The bucket at an offset; nullptr: it does not lie within the heap.
    [[nodiscard, gnu::always_inline]] Bucket<Atomic>* bucket_at(
        std::uint64_t place) const noexcept {
        return place <= granules_ * heap::granule_bytes - sizeof(Bucket<Atomic>)
                   ? reinterpret_cast<Bucket<Atomic>*>(base_ + place)
                   : nullptr;
    }

    [[nodiscard]] EntryRecord<Atomic>& record(BlockNumber block) const noexcept {
        return *reinterpret_cast<EntryRecord<Atomic>*>(address(block));
    }

    [[nodiscard]] BucketArray<Atomic>& array(BlockNumber block) const noexcept {
        return *reinterpret_cast<BucketArray<Atomic>*>(address(block));
    }

    [[nodiscard]] Bucket<Atomic>& bucket(BlockNumber block) const noexcept {
        return *reinterpret_cast<Bucket<Atomic>*>(address(block));
    }

    [[nodiscard]] Head<Atomic>& head(BlockNumber block) const noexcept {
        return *reinterpret_cast<Head<Atomic>*>(address(block));
    }

    [[nodiscard]] DirectoryStart<Atomic>& directory(BlockNumber block) const noexcept {
        return *reinterpret_cast<DirectoryStart<Atomic>*>(address(block));
    }

    [[nodiscard]] std::uint64_t place_of(const Word& word) const noexcept {
        return static_cast<std::uint64_t>(reinterpret_cast<const char*>(&word) - base_);
    }

    [[nodiscard]] Word& word_at(std::uint64_t place) const noexcept {
        return *reinterpret_cast<Word*>(base_ + place);
    }

    // Names a block that this thread is about to read. The caller checks afterwards whether the
    // block is still in use.
    [[gnu::always_inline]] void name(typename Shown::Hazard which,
                                     BlockNumber block) const noexcept {
        if (is_fence_paid_by_others_) [[likely]] {
            // release: reads of the block named before are done
            shown_.hazard[which].store(block, std::memory_order_release);
            std::atomic_signal_fence(std::memory_order_seq_cst);  // partner: RetiredBlocks::scan
        } else {
            shown_.hazard[which].exchange(block, std::memory_order_seq_cst);
        }
    }

    void forget(typename Shown::Hazard which) const noexcept {
        // release: this thread's reads of the block are done before another thread may free it
        shown_.hazard[which].store(0, std::memory_order_release);
    }

private:
    char* base_;
    const char* end_;
    std::uint64_t granules_;
    Shown& shown_;
    bool is_fence_paid_by_others_;
};

template <template <class> class Atomic>
class Ground : public ReadGround<Atomic> {
public:
    using Word = Atomic<std::uint64_t>;
    using Shown = Participant<Atomic>;

    //   blocks        of this thread; outlives this
    //   participants  of the heap; only this thread uses number `own`
    //   retire_batch  blocks that this thread retires between two scans of the hazard words
    Ground(Blocks<Atomic>& blocks,
           Participants<Atomic> participants,
           std::uint32_t own,
           std::uint32_t retire_batch) noexcept
        : ReadGround<Atomic>(blocks.base(),
                             blocks.limit_bytes(),
                             participants[own],
                             blocks.order_all() != nullptr),
          blocks_(blocks),
          participants_(participants),
          own_(own),
          retire_batch_(retire_batch) {}

    Ground(const Ground&) = delete;
    Ground& operator=(const Ground&) = delete;
    ~Ground() = default;

    [[nodiscard]] Blocks<Atomic>& blocks() const noexcept { return blocks_; }

    [[nodiscard]] const Participants<Atomic>& participants() const noexcept {
        return participants_;
    }

    [[nodiscard]] std::uint32_t own() const noexcept { return own_; }

    [[nodiscard]] std::uint32_t retire_batch() const noexcept { return retire_batch_; }

    // A mark that no record of this heap has or had (up to 2^38 marks): this thread's next one. The
    // thread takes many at once from the heap's count, so that few insertions change that.
    [[nodiscard]] std::uint64_t new_mark() const noexcept {
        std::uint64_t next = this->shown().mark;
        if (next % Shown::marks_at_once == 0) [[unlikely]] {
            // relaxed: the numbers alone matter
            auto& taken = participants_[0].marks_taken;
            next = taken.fetch_add(Shown::marks_at_once, std::memory_order_relaxed) + 1;
        }
        this->shown().mark = next + 1;
        return next & claim::mark_mask;
    }

    // See table/retired_blocks.hpp.
    static constexpr Spare spare_of_retired = Spare::second_word;

    [[nodiscard]] bool may_be_retired(BlockNumber block) const {
        return has_allocated(block, signed_bytes);
    }

    // Calls note(block) for each block that a participant names in a hazard word, has made and not
    // linked yet, or retires; also note(0). A block in a dead participant's `unlinking` counts,
    // because recovery still uses it.
    template <typename Note>
    void for_each_named(const Note& note) const {
        for (std::uint32_t i = 0; i < participants_.count; ++i) {
            const auto& other = participants_[i];
            // seq_cst: these loads come after the store that made a block unreachable; partner:
            // name()
            for (const auto& hazard : other.hazard) note(hazard.load(std::memory_order_seq_cst));
            note(made::block_in(other.record_made.load(std::memory_order_seq_cst)));
            // After the hazards, which named the block when this was stored, and may name another
            // one since.
            note(unlinking::block_in(other.unlinking.load(std::memory_order_seq_cst)));
        }
    }

    // See table/freeing.hpp.
    template <typename Unlink>
    void unlink_and_free(BlockNumber block, const Unlink& unlink) const {
        table::unlink_and_free(blocks_, this->shown().freeing, own_, block, Spare::second_word,
                               unlink);
    }

    // Links the filled block that was made last, if the word has the expected value; else frees it.
    //   kind  made::is_array or 0
    bool link_block(Word& word,
                    std::uint64_t expected,
                    std::uint64_t value,
                    std::uint64_t kind = 0) const {
        auto& shown = this->shown();
        const std::uint64_t block = shown.block_made.load(std::memory_order_relaxed);
        shown.block_place.store(this->place_of(word), std::memory_order_relaxed);
        shown.block_made.store(block | made::filled | kind, std::memory_order_release);
        const bool is_linked = word.compare_exchange_strong(
            expected, value, std::memory_order_seq_cst, std::memory_order_acquire);
        const auto forget = [&] { shown.block_made.store(0, std::memory_order_release); };
        if (is_linked) {
            forget();
        } else {
            unlink_and_free(made::block_in(block), forget);
        }
        return is_linked;
    }

    // Whether an allocated block of a container with at least this many bytes begins there. Asked
    // before a block is freed whose number the program may have overwritten.
    [[nodiscard]] bool has_allocated(BlockNumber block, std::uint64_t bytes) const {
        return blocks_.usable_bytes(block) >= bytes;
    }

private:
    Blocks<Atomic>& blocks_;
    Participants<Atomic> participants_;
    std::uint32_t own_;
    std::uint32_t retire_batch_;
};

// Publishes for the length of a call which table it changes; clears the hazard words at its end.
template <template <class> class Atomic>
class Changing {
public:
    Changing(const Ground<Atomic>& ground, BlockNumber table) noexcept
        : ground_(ground), table_(table) {
        show();
    }

    // Publishes it again, where this thread may have recovered another participant in between.
    void show() const noexcept {
        ground_.shown().table.store(table_, std::memory_order_relaxed);
        ground_.shown().table_id.store(ground_.head(table_).id, std::memory_order_relaxed);
    }

    ~Changing() {
        ground_.forget(Participant<Atomic>::record);
        ground_.forget(Participant<Atomic>::from_array);
        ground_.forget(Participant<Atomic>::to_array);
    }

    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

private:
    const Ground<Atomic>& ground_;
    BlockNumber table_;
};

}  // namespace acp::table
