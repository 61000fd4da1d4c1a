// SPDX-License-Identifier: BSD-3-Clause
// Inserts an entry, or replaces its value. An insertion first puts its record into a free slot as a
// tentative one, then cancels the other tentative insertions of the key or is cancelled, and only
// then makes its record an entry; so one of several wins, and none waits.
// Source: M. Herlihy, N. Shavit, M. Tzafrir, Hopscotch hashing, DISC 2008, for the tentative step.
// Tests: tests/unit/table.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include "table/effect.hpp"
#include "table/ground.hpp"
#include "table/growth.hpp"
#include "table/next_array.hpp"
#include "table/reclaimer.hpp"
#include "table/search.hpp"
#include "table/vacancy.hpp"

namespace acp::table {

struct EntryValue {
    const void* data = nullptr;
    std::uint32_t bytes = 0;
};

// How an existing entry of the same key is treated.
enum class PutMode : std::uint8_t {
    insert,   // it stays
    assign,   // it gets the value
    replace,  // it gets the value if its own is the one expected; nothing is inserted
    add,      // it stays, and another one is inserted beside it
};

struct PutRequest {
    EntryKey key;
    EntryValue value;
    PutMode mode = PutMode::insert;
    EntryValue expected = {};  // PutMode::replace
    // 0, or a block of the caller that holds key and value as a record does. The call takes it as
    // the entry's record or frees it, unless it returns PutEffect::is_prepared_left.
    BlockNumber prepared = 0;
};

// The result of a put, and the key's entry; record 0: there is none.
struct PutEffect {
    Effect effect = Effect::done;
    RecordName record;
    std::uint32_t value_bytes = 0;  // length of the entry's value
    bool is_prepared_left = false;  // no_room: the caller still owns the prepared block
    bool was_there = false;         // done: it has replaced the value of an existing entry
};

template <template <class> class Atomic>
class Insertion {
public:
    //   ground  outlives this
    explicit Insertion(const Ground<Atomic>& ground) noexcept
        : ground_(ground), reclaimer_(ground), growth_(ground), next_array_(ground) {}

    // Returns done, no_room, damaged; insert: present; replace: present (it has another value),
    // absent, no_number (a value of 8 bytes can only be replaced by one of 8 bytes).
    PutEffect put(Head<Atomic>& head, const PutRequest& request) {
        CountedAtOnce tally{*this, head};
        return put(head, request, tally);
    }

    // The same with a tally.
    //   tally  note_insertion(): this call inserted an entry, to be counted now or later; count():
    //          all insertions are to be counted now
    template <typename Tally>
    PutEffect put(Head<Atomic>& head, const PutRequest& request, Tally& tally) {
        Making making{head, request};
        if (request.prepared != 0) take_prepared(making);
        // Constructed in the caller's object: copying it just after its parts were stored would
        // stall the processor.
        PutEffect effect;
        for (bool is_decided = false; !is_decided; ++making.attempts) {
            const Spot<Atomic> spot = growth_.spot_for_change(head, request.key.hash);
            if (spot.first == nullptr) {
                end(making, spot.failure(), effect);
                break;
            }
            Entry entry;
            if (request.mode != PutMode::add) {
                entry = Search<Atomic>(ground_).look(head, spot, request.key,
                                                     Search<Atomic>::Access::change);
                if (entry.is_late) continue;
            }
            if (entry.is_damaged) {
                end(making, Effect::damaged, effect);
                break;
            }
            const bool is_met = entry.slot != nullptr || request.mode == PutMode::replace;
            is_decided = is_met ? put_to_existing(making, entry, effect)
                                : insert_at(making, spot, effect, tally);
        }
        return effect;
    }

    // The number of insertions from this count until the next one that calls look(), at least 1.
    [[nodiscard]] static constexpr std::uint64_t until_look(std::uint64_t insertions) noexcept {
        constexpr std::uint64_t look_every = 64;
        return (~insertions + 1) % look_every + 1;
    }

    // Takes the next step towards growth if that is due, and frees another part of a long retired
    // array.
    void look(Head<Atomic>& head) {
        next_array_.advance_if_due(head);
        if (reclaimer_.has_begun()) (void)reclaimer_.scan();
    }

private:
    using Entry = typename Search<Atomic>::Entry;

    // A single insertion is counted at once.
    struct CountedAtOnce {
        void note_insertion() {
            if (until_look(head.count_insertions(insertion.ground_.own(), 1)) == 1)
                insertion.look(head);
            insertion.growth_.help(head);
        }

        void count() const noexcept {}

        Insertion& insertion;
        Head<Atomic>& head;
    };

    // The state of one call.
    struct Making {
        Head<Atomic>& head;
        const PutRequest& request;
        RecordName made = {};    // the record to be linked
        bool was_shown = false;  // other threads may have read it
        std::uint32_t attempts = 0;
    };

    // The key has no entry, or may have several. false: search again.
    template <typename Tally>
    [[nodiscard]] bool insert_at(Making& making,
                                 const Spot<Atomic>& spot,
                                 PutEffect& effect,
                                 Tally& tally) {
        if (making.made.block == 0 && !make_record(making)) return tell(effect, Effect::no_room);
        const Vacancy<Atomic> vacancy = VacancySearch<Atomic>(ground_).find(making.head, spot);
        PutStep step = vacancy.step;
        if (step == PutStep::done && vacancy.slot == nullptr) {
            tally.count();
            step = make_room(making, vacancy);
        } else if (step == PutStep::done) {
            step = making.request.mode == PutMode::add ? add(making, vacancy)
                                                       : insert(making, spot, vacancy);
        }
        // No bucket of a change is frozen while the root is the same.
        if (step == PutStep::frozen && Growth<Atomic>::has_root(making.head, spot))
            step = PutStep::damaged;
        if (step == PutStep::late || step == PutStep::frozen) return false;
        if (step != PutStep::done) {
            end(making, step == PutStep::damaged ? Effect::damaged : Effect::no_room, effect);
            return true;
        }
        let_go();
        tally.note_insertion();
        return tell_made(effect, making);
    }

    // The key has an entry, or must have one. false: search again.
    [[nodiscard, gnu::always_inline]] bool put_to_existing(Making& making,
                                                           const Entry& entry,
                                                           PutEffect& effect) {
        const PutRequest& request = making.request;
        if (entry.slot == nullptr) {
            end(making, Effect::absent, effect);
            return true;
        }
        const BlockNumber old = slot::record_in(entry.word);
        if (request.mode == PutMode::insert) {
            end(making, Effect::present, effect);
            return tell_existing(effect, Effect::present, old);
        }
        if (const std::optional<Effect> changed = change_in_place(request, old)) {
            end(making, *changed, effect);
            effect.was_there = true;
            return tell_existing(effect, *changed, old);
        }
        if (making.made.block == 0 && !make_record(making))
            return tell_existing(effect, Effect::no_room, old);
        if (!reclaimer_.unlink(*entry.slot, entry.word,
                               slot::of(request.key.hash, making.made.block))) {
            return false;
        }
        let_go();
        effect.was_there = true;
        return tell_made(effect, making);
    }

    // Sets the result of a call that found no entry.
    static bool tell(PutEffect& effect, Effect what) noexcept {
        effect.effect = what;
        effect.record = {};
        return true;
    }

    // The record that this call has linked: another thread may have retired it since.
    static bool tell_made(PutEffect& effect, const Making& making) noexcept {
        effect.effect = Effect::done;
        effect.record = making.made;
        effect.value_bytes = making.request.value.bytes;
        return true;
    }

    //   number  of a record that this thread names in a hazard word
    bool tell_existing(PutEffect& effect, Effect what, BlockNumber number) const noexcept {
        const auto& record = ground_.record(number);
        effect.effect = what;
        effect.record = {number, record.mark()};
        effect.value_bytes = record.value_bytes;
        return true;
    }

    // Decides a put that needs no new record: a value of 8 bytes, or a replace that finds another
    // value. std::nullopt: the put needs a record.
    [[nodiscard]] std::optional<Effect> change_in_place(const PutRequest& request,
                                                        BlockNumber number) const noexcept {
        auto& record = ground_.record(number);
        const bool is_conditional = request.mode == PutMode::replace;
        const EntryValue& expected = request.expected;
        if (is_conditional && expected.bytes != record.value_bytes) return Effect::present;
        if (!record.is_number()) {
            const bool is_other =
                is_conditional && std::memcmp(record.value(), expected.data, expected.bytes) != 0;
            return is_other ? std::optional(Effect::present) : std::nullopt;
        }
        if (request.value.bytes != sizeof(std::uint64_t)) {
            return is_conditional ? std::optional(Effect::no_number) : std::nullopt;
        }
        const std::uint64_t value = number_in(request.value);
        if (!is_conditional) {
            record.number().store(value, std::memory_order_release);
            return Effect::done;
        }
        std::uint64_t before = number_in(expected);
        return record.number().compare_exchange_strong(before, value, std::memory_order_acq_rel,
                                                       std::memory_order_acquire)
                   ? Effect::done
                   : Effect::present;
    }

    [[nodiscard]] static std::uint64_t number_in(const EntryValue& value) noexcept {
        std::uint64_t number = 0;
        std::memcpy(&number, value.data, sizeof number);
        return number;
    }

    void take_prepared(Making& making) const noexcept {
        const PutRequest& request = making.request;
        making.made = {request.prepared, ground_.new_mark()};
        auto& record = ground_.record(request.prepared);
        record.claim.store(claim::of(request.key.hash, making.made.mark),
                           std::memory_order_relaxed);
        ground_.shown().record_made.store(made::of_record(request.prepared, request.key.hash),
                                          std::memory_order_release);
    }

    [[nodiscard]] bool make_record(Making& making) {
        auto& shown = ground_.shown();
        const EntryKey& key = making.request.key;
        const EntryValue& value = making.request.value;
        const BlockNumber block = ground_.blocks().allocate(
            shown.record_made, EntryRecord<Atomic>::bytes(key.bytes, value.bytes),
            heap::granule_bytes);
        if (block == 0) return false;
        making.made = {block, ground_.new_mark()};
        auto& record = ground_.record(block);
        record.claim.store(claim::of(key.hash, making.made.mark), std::memory_order_relaxed);
        record.key_bytes = key.bytes;
        record.value_bytes = value.bytes;
        copy_bytes(record.key(), key.data, key.bytes);
        if (record.is_number()) {
            // The value is an atomic from its first store on; linking the record makes it visible.
            record.number().store(number_in(value), std::memory_order_relaxed);
        } else {
            copy_bytes(record.value(), value.data, value.bytes);
        }
        shown.record_made.store(made::of_record(block, key.hash), std::memory_order_release);
        return true;
    }

    // Ends a call that links nothing. A record that other threads may have read is retired; a
    // prepared one that none has read is left to a caller that may try again.
    void end(const Making& making, Effect result, PutEffect& effect) {
        (void)tell(effect, result);
        if (making.made.block == 0) return;
        if (result == Effect::no_room && making.request.prepared != 0 && !making.was_shown) {
            ground_.shown().record_made.store(0, std::memory_order_release);
            effect.is_prepared_left = true;
            return;
        }
        if (making.was_shown) {
            reclaimer_.retire(making.made.block, Retired::record);
            ground_.shown().record_made.store(0, std::memory_order_release);
        } else {
            ground_.unlink_and_free(making.made.block, [&] {
                ground_.shown().record_made.store(0, std::memory_order_release);
            });
        }
    }

    // Adds a bucket to a full chain, or empties the slot of an insertion that stays tentative for
    // long. late: it has done so, or another thread has.
    PutStep make_room(const Making& making, const Vacancy<Atomic>& vacancy) {
        constexpr std::uint32_t patience = 4;
        if (vacancy.undecided != nullptr && making.attempts > patience) {
            std::uint64_t expected = vacancy.undecided_word;
            vacancy.undecided->compare_exchange_strong(
                expected, slot::emptied, std::memory_order_seq_cst, std::memory_order_relaxed);
            return PutStep::late;
        }
        const std::uint64_t word = vacancy.last->link.load(std::memory_order_acquire);
        if ((word & link::frozen) != 0) return PutStep::frozen;
        if (link::next_in(word) != 0) return PutStep::late;
        next_array_.advance_if_due(making.head);
        Bucket<Atomic>* bucket = growth_.make_bucket();
        if (bucket == nullptr) return PutStep::no_room;
        bucket->link.store(link::made, std::memory_order_relaxed);
        for (auto& slot : bucket->slots) slot.store(slot::emptied, std::memory_order_relaxed);
        (void)growth_.link_bucket(*vacancy.last, word);
        return PutStep::late;
    }

    // Puts the record beside others of its key, whatever other insertions do.
    PutStep add(Making& making, const Vacancy<Atomic>& vacancy) {
        std::uint64_t expected = vacancy.word;
        const bool is_done = vacancy.slot->compare_exchange_strong(
            expected, slot::of(making.request.key.hash, making.made.block),
            std::memory_order_seq_cst, std::memory_order_relaxed);
        return is_done ? PutStep::done : PutStep::late;
    }

    // Publishes the record in the slot as tentative, then searches the chain for another insertion
    // of the key, and makes it an entry only if there is none. If two insertions are concurrent, at
    // least one of them sees the other, and cancels it.
    PutStep insert(Making& making, const Spot<Atomic>& spot, const Vacancy<Atomic>& vacancy) {
        const std::uint64_t entry = slot::of(making.request.key.hash, making.made.block);
        std::uint64_t expected = vacancy.word;
        making.was_shown = true;
        if (!vacancy.slot->compare_exchange_strong(expected, entry | slot::tentative,
                                                   std::memory_order_seq_cst,
                                                   std::memory_order_relaxed)) {
            return PutStep::late;
        }
        const PutStep others = end_others(making.request.key, spot, *vacancy.slot);
        expected = entry | slot::tentative;
        if (others == PutStep::done &&
            vacancy.slot->compare_exchange_strong(expected, entry, std::memory_order_seq_cst,
                                                  std::memory_order_relaxed)) {
            return PutStep::done;
        }
        expected = entry | slot::tentative;
        vacancy.slot->compare_exchange_strong(expected, slot::emptied, std::memory_order_seq_cst,
                                              std::memory_order_relaxed);
        give_way(making.attempts);
        return others == PutStep::done ? PutStep::late : others;
    }

    // Cancels the other tentative insertions of the key. late: the key has an entry.
    [[nodiscard]] PutStep end_others(const EntryKey& key,
                                     const Spot<Atomic>& spot,
                                     const Atomic<std::uint64_t>& own) const {
        CircleFinder circle;
        for (Bucket<Atomic>* bucket = spot.first; bucket != nullptr;) {
            // seq_cst: after the own record was published
            for (std::uint32_t like =
                     bucket->slots_like(slot::fragment_of(key.hash), std::memory_order_seq_cst);
                 like != 0; like &= like - 1) {
                auto& slot = bucket->slots[static_cast<std::uint32_t>(std::countr_zero(like))];
                const PutStep ended = &slot != &own ? end_other(key, slot) : PutStep::done;
                if (ended != PutStep::done) return ended;
            }
            const BlockNumber next = link::next_in(bucket->link.load(std::memory_order_seq_cst));
            if (next == 0) return PutStep::done;
            bucket = ground_.bucket_after(next, circle);
        }
        return PutStep::damaged;
    }

    // Does so for one slot.
    [[nodiscard]] PutStep end_other(const EntryKey& key, Atomic<std::uint64_t>& slot) const {
        const std::uint64_t fragment = slot::fragment_of(key.hash);
        std::uint64_t word = slot.load(std::memory_order_seq_cst);
        while (slot::fragment_in(word) == fragment && (word & slot::occupied) != 0) {
            if ((word & slot::frozen) != 0) return PutStep::frozen;
            const BlockNumber record = slot::record_in(word);
            if (!ground_.has_head(record)) return PutStep::damaged;
            ground_.name(Participant<Atomic>::record, record);
            const std::uint64_t again = slot.load(std::memory_order_seq_cst);
            if (again != word) {
                word = again;
                continue;
            }
            if (!ground_.has_key(record, key.data, key.bytes)) return PutStep::done;
            if ((word & slot::tentative) == 0) return PutStep::late;
            if (slot.compare_exchange_strong(word, slot::emptied, std::memory_order_seq_cst,
                                             std::memory_order_seq_cst)) {
                return PutStep::done;
            }
        }
        return PutStep::done;
    }

    void let_go() const noexcept {
        ground_.shown().record_made.store(0, std::memory_order_release);
    }

    // Two insertions that cancel each other repeatedly back off for different times.
    void give_way(std::uint32_t attempts) const noexcept {
        const std::uint32_t turns = (ground_.own() + 1) << std::min<std::uint32_t>(attempts, 8);
        for (std::uint32_t i = 0; i < turns; ++i)
            std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    const Ground<Atomic>& ground_;
    Reclaimer<Atomic> reclaimer_;
    Growth<Atomic> growth_;
    NextArray<Atomic> next_array_;
};

}  // namespace acp::table
