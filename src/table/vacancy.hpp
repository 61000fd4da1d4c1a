// SPDX-License-Identifier: BSD-3-Clause
// Finds a free slot for an entry in the chain of a bucket. If keys may have several entries, the
// chain of one key may be long, and an insertion does not search all of it: each thread has a hint
// where it has last found a free slot, and searches from there. It searches the whole chain again
// when the hint has moved by half of the chain's length, and so finds slots that erasures have freed.
// Tests: tests/unit/table/vacancy_test.cpp, concurrency_test.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "table/growth.hpp"

namespace acp::table {

// The outcome of a step of an insertion.
enum class PutStep : std::uint8_t {
    done,
    late,     // another thread has changed what this one had read: search again
    frozen,   // the bucket is being migrated: search again
    no_room,  // there is no memory
    damaged,  // a word leads nowhere
};

// A slot to be filled, or the last bucket of a full chain.
template <template <class> class Atomic>
struct Vacancy {
    PutStep step = PutStep::done;
    Atomic<std::uint64_t>* slot = nullptr;
    std::uint64_t word = 0;
    Bucket<Atomic>* last = nullptr;
    // a slot with a tentative insertion
    Atomic<std::uint64_t>* undecided = nullptr;
    std::uint64_t undecided_word = 0;
};

template <template <class> class Atomic>
class VacancySearch {
public:
    //   ground  outlives this
    explicit VacancySearch(const Ground<Atomic>& ground) noexcept : ground_(ground) {}

    // A chain of fewer buckets is searched as a whole.
    static constexpr std::uint32_t long_chain = 16;

    //   spot  for a change: its arrays are named
    [[nodiscard]] Vacancy<Atomic> find(const Head<Atomic>& head, const Spot<Atomic>& spot) const {
        Vacancy<Atomic> vacancy;
        CircleFinder circle;
        std::uint32_t passed = 0;
        bool may_jump = head.has_many_of_a_key() && head.id != 0;
        const bool has_hints = may_jump;
        ChainHint hint{spot.root, head.id, ground_.place_of(spot.first->link), 0, 0, 0};
        for (Bucket<Atomic>* bucket = spot.first; bucket != nullptr; ++passed) {
            if (passed == long_chain && may_jump) {
                may_jump = false;
                if (is_of_chain(hint)) {
                    hint = ground_.shown().hint;
                    circle = {};  // its bucket may be one of those that were passed
                    passed = 0;
                    bucket = &ground_.bucket(hint.bucket);
                }
            }
            vacancy.last = bucket;
            if (look_at(*bucket, vacancy)) {
                if (has_hints && !may_jump) note(hint, *bucket, passed);
                return vacancy;
            }
            const BlockNumber next = link::next_in(bucket->link.load(std::memory_order_acquire));
            if (next != 0) {
                bucket = ground_.bucket_after(next, circle);
            } else if (hint.bucket != 0 && hint.passed + passed > hint.length / 2) {
                // From the first bucket again: slots may have become free before the hint.
                hint.bucket = 0;
                hint.length = hint.passed = 0;
                circle = {};
                passed = 0;
                bucket = spot.first;
            } else {
                if (has_hints && !may_jump) note(hint, *bucket, passed);
                return vacancy;
            }
        }
        vacancy.step = PutStep::damaged;
        return vacancy;
    }

private:
    // Whether the search ends with this bucket: it has a free slot, or is being migrated.
    [[nodiscard]] static bool look_at(Bucket<Atomic>& bucket, Vacancy<Atomic>& vacancy) {
        if (const std::uint32_t free = bucket.free_slots(std::memory_order_relaxed); free != 0) {
            vacancy.slot = &bucket.slots[static_cast<std::uint32_t>(std::countr_zero(free))];
            vacancy.word = vacancy.slot->load(std::memory_order_acquire);
            if (!slot::is_free(vacancy.word)) vacancy.step = PutStep::late;
            return true;
        }
        for (auto& slot : bucket.slots) {
            const std::uint64_t word = slot.load(std::memory_order_acquire);
            if ((word & slot::frozen) != 0) {
                vacancy.step = PutStep::frozen;
                return true;
            }
            if ((word & slot::tentative) != 0) {
                vacancy.undecided = &slot;
                vacancy.undecided_word = word;
            }
        }
        return false;
    }

    // Whether this thread's hint is one of the same chain.
    [[nodiscard]] bool is_of_chain(const ChainHint& chain) const noexcept {
        const ChainHint& hint = ground_.shown().hint;
        return hint.root == chain.root && hint.table == chain.table && hint.first == chain.first;
    }

    //   hint    from which the search began; bucket 0: at the first bucket
    //   passed  the buckets before this one, from there on
    void note(ChainHint hint, const Bucket<Atomic>& bucket, std::uint32_t passed) const noexcept {
        const std::uint64_t root = hint.root;
        if (hint.bucket == 0) {
            hint.length = passed + 1;
        } else {
            hint.passed += passed;
        }
        hint.bucket = number_of(heap::Offset{ground_.place_of(bucket.link)});
        hint.root = Root::none;
        auto& kept = ground_.shown().hint;
        // The root is written last, and first made invalid, because this thread may be killed here.
        kept.root = Root::none;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        kept = hint;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        kept.root = root;
    }

    const Ground<Atomic>& ground_;
};

}  // namespace acp::table
