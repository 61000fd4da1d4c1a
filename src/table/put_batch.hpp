// SPDX-License-Identifier: BSD-3-Clause
// Puts on several keys of one table by one thread, one after the other. Their insertions are
// counted together, which saves a locked instruction per key. Each put takes effect when it is
// made, as a single one does; only the table's number of entries is wrong until this ends. Until it
// has counted, the table's array stays named in a hazard word, so that recovery of a killed process
// marks the count unknown (table/entry_count.hpp).
// Tests: tests/unit/table/put_batch_test.cpp, kill_changes_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "table/ground.hpp"
#include "table/growth.hpp"
#include "table/insertion.hpp"

namespace acp::table {

// Counts insertions together, up to the one that checks whether the table is to grow; the checks
// come as often as for single insertions.
template <template <class> class Atomic>
class CountedTogether {
public:
    CountedTogether(const Ground<Atomic>& ground,
                    Head<Atomic>& head,
                    Insertion<Atomic>& insertion) noexcept
        : ground_(ground), head_(head), insertion_(insertion), growth_(ground) {}

    void note_insertion() {
        const bool is_growing =
            Root::unpacked(head_.root.load(std::memory_order_acquire)).is_growing();
        ++uncounted_;
        // before help(), which clears the names of the arrays at its end
        if (uncounted_ == count_at_ || is_growing) count();
        if (is_growing) [[unlikely]]
            growth_.help(head_);
    }

    // Adds the insertions to the counter. An array stays named until then (EntryCount).
    void count() {
        if (uncounted_ == 0) return;
        const std::uint64_t before = head_.count_insertions(ground_.own(), uncounted_);
        const bool is_look_due = Insertion<Atomic>::until_look(before) <= uncounted_;
        count_at_ = Insertion<Atomic>::until_look(before + uncounted_);
        uncounted_ = 0;
        if (is_look_due) insertion_.look(head_);
    }

private:
    const Ground<Atomic>& ground_;
    Head<Atomic>& head_;
    Insertion<Atomic>& insertion_;
    Growth<Atomic> growth_;
    std::uint64_t uncounted_ = 0;  // insertions that are not in the counter yet
    std::uint64_t count_at_ = 1;   // the next check is due at this number
};

template <template <class> class Atomic>
class PutBatch {
public:
    //   ground  outlives this
    PutBatch(const Ground<Atomic>& ground, BlockNumber table) noexcept
        : changing_(ground, table),
          head_(ground.head(table)),
          insertion_(ground),
          counting_(ground, head_, insertion_) {}

    ~PutBatch() { counting_.count(); }

    PutBatch(const PutBatch&) = delete;
    PutBatch& operator=(const PutBatch&) = delete;

    // Does what Insertion::put does. After no_room all insertions are counted, and the caller may
    // recover other participants with the same ground.
    PutEffect put(const PutRequest& request) {
        changing_.show();
        PutEffect effect = insertion_.put(head_, request, counting_);
        if (effect.effect == Effect::no_room) [[unlikely]]
            counting_.count();
        return effect;
    }

private:
    const Changing<Atomic> changing_;
    Head<Atomic>& head_;
    Insertion<Atomic> insertion_;
    CountedTogether<Atomic> counting_;
};

}  // namespace acp::table
