// SPDX-License-Identifier: BSD-3-Clause
// Looks for a key in its chain: for finds, which take nothing and keep nothing in its place, and for changes.
// Tests: tests/unit/table/table_test.cpp, concurrency_test.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "table/ground.hpp"
#include "table/growth.hpp"

namespace acp::table {

// A key, and its hash, of which hash_bits count.
struct EntryKey {
    const void* data = nullptr;
    std::uint32_t bytes = 0;
    std::uint64_t hash = 0;
};

template <template <class> class Atomic>
class Search {
public:
    using Shown = Participant<Atomic>;

    // For whom it looks: a change has named the arrays and seen to it that the key's bucket is not moved; a find has not.
    enum class Access : std::uint8_t { find, change };

    // A slot that was found to name the key's record, which is named.
    struct Entry {
        Atomic<std::uint64_t>* slot = nullptr;
        std::uint64_t word = 0;
        bool is_late = false;  // what was read is not the key's place any more: look again
    };

    //   ground  outlives this
    explicit Search(const Ground<Atomic>& ground) noexcept : ground_(ground), growth_(ground) {}

    [[nodiscard, gnu::always_inline]] Entry find(const Head<Atomic>& head,
                                                 const EntryKey& key) const {
        for (;;) {
            const Spot<Atomic> spot = growth_.spot_for_find(head, key.hash);
            const Entry entry = look(head, spot, key, Access::find);
            if (!entry.is_late) [[likely]]
                return entry;
        }
    }

    // Looks for a key in a chain.
    [[nodiscard, gnu::always_inline]] Entry look(const Head<Atomic>& head,
                                                 const Spot<Atomic>& spot,
                                                 const EntryKey& key,
                                                 Access access) const {
        return look_for(head, spot, slot::fragment_of(key.hash), access, [&](BlockNumber record) {
            return ground_.record(record).has_key(key.data, key.bytes);
        });
    }

    // Looks for the entry of a record, whose key has this hash.
    [[nodiscard]] Entry find_record(const Head<Atomic>& head,
                                    std::uint64_t hash,
                                    BlockNumber record) const {
        for (;;) {
            const Spot<Atomic> spot = growth_.spot_for_find(head, hash);
            const Entry entry = look_for(head, spot, slot::fragment_of(hash), Access::find,
                                         [record](BlockNumber found) { return found == record; });
            if (!entry.is_late) return entry;
        }
    }

    // Looks through a chain for a record of which is_it(number) is true; that of the entry is named. A find does not keep its buckets
    // from being moved and freed, and therefore looks at each step whether they are current.
    template <typename IsIt>
    [[nodiscard, gnu::always_inline]] Entry look_for(const Head<Atomic>& head,
                                                     const Spot<Atomic>& spot,
                                                     std::uint64_t fragment,
                                                     Access access,
                                                     const IsIt& is_it) const {
        const bool is_find = access == Access::find;
        for (Bucket<Atomic>* bucket = spot.first;;) {
            for (std::uint32_t like = bucket->slots_like(fragment, std::memory_order_acquire);
                 like != 0; like &= like - 1) {
                auto& slot = bucket->slots[static_cast<std::uint32_t>(std::countr_zero(like))];
                const std::uint64_t word = slot.load(std::memory_order_acquire);
                if (slot::fragment_in(word) != fragment || !slot::is_entry(word)) continue;
                if (!is_find && (word & slot::frozen) != 0) return Entry{nullptr, 0, true};
                const char* const record = ground_.address(slot::record_in(word));
                __builtin_prefetch(record + line_bytes);  // where its head, read first, sends to
                ground_.name(Shown::record, slot::record_in(word));
                // seq_cst, as what is_current() reads: after the name; partner: Reclaimer::scan
                const std::uint64_t again = slot.load(std::memory_order_seq_cst);
                if (((again ^ word) & ~slot::frozen) != 0 ||
                    !Growth<Atomic>::is_current(head, spot)) [[unlikely]]
                    return Entry{nullptr, 0, true};
                if (is_it(slot::record_in(word))) [[likely]]
                    return {&slot, word, false};
            }
            const BlockNumber next = link::next_in(bucket->link.load(std::memory_order_acquire));
            if (is_find && !Growth<Atomic>::is_current(head, spot)) [[unlikely]]
                return Entry{nullptr, 0, true};
            if (next == 0) [[likely]]
                return {};
            bucket = &ground_.bucket(next);
        }
    }

    // Has the processor fetch the records that may be those of a key. It is not looked at whether the bucket is in use: what is not
    // there is not fetched.
    void prefetch_records(const Bucket<Atomic>& bucket, std::uint64_t fragment) const noexcept {
        for (std::uint32_t like = bucket.slots_like(fragment, std::memory_order_relaxed); like != 0;
             like &= like - 1) {
            const auto& slot = bucket.slots[static_cast<std::uint32_t>(std::countr_zero(like))];
            const char* const record =
                ground_.address(slot::record_in(slot.load(std::memory_order_relaxed)));
            __builtin_prefetch(record);
            __builtin_prefetch(record + line_bytes);
        }
    }

private:
    const Ground<Atomic>& ground_;
    Growth<Atomic> growth_;
};

}  // namespace acp::table
