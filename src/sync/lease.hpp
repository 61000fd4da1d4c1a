// SPDX-License-Identifier: BSD-3-Clause
// A lease of a place in shared memory: any process takes it when it is free, and then writes into
// the place again and again without a lock. The place's owner revokes the lease without the
// holder's help, but only after it has consumed all that the holder wrote. Knows nothing of what is
// written, and counts it in units of its users. The owner is one thread, and so is a holder; any
// thread may call take().
//
//   holder                                      owner
//   take(): free -> held
//   enter(): store the note, load the state     begin_revoke(): held -> revoking
//     revoking: retry later                     (a barrier on all CPUs, or a seq_cst fence of both)
//     another generation: revoked               no note of the holder, and is_used_up()?
//   write; leave(): store the count               ready the place, make_free()
//                                               else give_back(): held again
//
// Either the owner sees the holder's note, or the holder sees that the lease is being revoked.
// Except in close(), the owner has consumed all units when it revokes, so a revoked holder has
// nothing to send again: it calls take(). The note "I write here" is a word of the writer, not of
// the lease, because a holder whose lease was revoked and taken by another process must not change
// the lease's words.
//
// OVERWRITTEN WORDS. The state carries a checksum. A holder that reads a state with a wrong
// checksum retries later. The owner restores the state if it knows the holder; else it stores
// "revoking, holder 0". A holder that reads this state with its own generation stores itself as its
// holder. A note consists of two equal words, and so does the count of written units (the second
// one inverted). If either word of a note names the place, the owner takes the holder for writing.
// If the words of the count differ, the owner takes the lease for not used up until the holder
// stores both again with its next write.
//
// WHEN A SIDE DIES OR STOPS. take() is one instruction. A holder that stops between enter() and
// leave() keeps the lease. After a holder's death the owner consumes all that the holder wrote, and
// calls make_free(). After the owner's death the lease is never revoked. The generation has 18
// bits: a holder that sleeps through 2^18 generations of its lease may not notice that it was
// revoked.
// Tests: tests/unit/sync/lease_test.cpp, under the seeded scheduler.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/fence.hpp"

namespace acp::sync {

enum class LeaseKind : std::uint8_t {
    free = 1,
    held = 2,
    // the owner decides whether to revoke it: make_free() or give_back() ends this state
    revoking = 3,
};

// The state of a lease in one word; the word 0 is not a sound state. A random word, or a state of
// another lease, is sound with a probability of 2^-24.
class LeaseState {
public:
    static constexpr std::uint32_t holder_max = (1U << 20) - 1;
    static constexpr std::uint32_t generations = 1U << 18;

    constexpr LeaseState() noexcept = default;

    //   lease  the number of the lease, part of the checksum, so that a state of another lease is
    //          not sound
    constexpr LeaseState(std::uint64_t word, std::uint32_t lease) noexcept
        : word_(word), lease_(lease) {}

    //   generation  < generations; counts how often the lease was made free
    //   holder      <= holder_max; 0 in a free lease
    constexpr LeaseState(LeaseKind kind,
                         std::uint32_t generation,
                         std::uint32_t holder,
                         std::uint32_t lease) noexcept
        : word_(with_check(std::uint64_t{generation} << generation_shift |
                               std::uint64_t{holder} << kind_bits |
                               static_cast<std::uint64_t>(kind),
                           lease)),
          lease_(lease) {}

    [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }

    [[nodiscard]] constexpr bool is_sound() const noexcept {
        return (word_ & kind_mask) != 0 && word_ == with_check(word_ & said_mask, lease_);
    }

    // These are valid only if is_sound().

    [[nodiscard]] constexpr LeaseKind kind() const noexcept {
        return static_cast<LeaseKind>(word_ & kind_mask);
    }

    [[nodiscard]] constexpr std::uint32_t generation() const noexcept {
        return static_cast<std::uint32_t>((word_ & said_mask) >> generation_shift);
    }

    [[nodiscard]] constexpr std::uint32_t holder() const noexcept {
        return static_cast<std::uint32_t>(word_ >> kind_bits) & holder_max;
    }

    friend constexpr bool operator==(LeaseState one, LeaseState other) noexcept {
        return one.word_ == other.word_;
    }

private:
    static constexpr unsigned kind_bits = 2;
    static constexpr std::uint64_t kind_mask = 3;
    static constexpr unsigned generation_shift = 22;
    static constexpr unsigned check_shift = 40;
    static constexpr std::uint64_t said_mask = (std::uint64_t{1} << check_shift) - 1;

    [[nodiscard]] static constexpr std::uint64_t with_check(std::uint64_t said,
                                                            std::uint32_t lease) noexcept {
        // The upper bits of a product with an odd number depend on all bits of the factor.
        const std::uint64_t mixed =
            (said + (lease + std::uint64_t{1}) * 0x632be59bd9b4e019ULL) * 0x9e3779b97f4a7c15ULL;
        return (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93ULL >> check_shift << check_shift | said;
    }

    std::uint64_t word_ = 0;
    std::uint32_t lease_ = 0;
};

// A word pair in which a writer publishes the place it is writing to, as a number, not 0. Lies in
// memory that the owners of the writer's leases have mapped.
template <template <class> class Atomic = std::atomic>
class WriterNote {
public:
    void begin(std::uint64_t place) noexcept { set(place); }

    void end() noexcept { set(0); }

    [[nodiscard]] bool says(std::uint64_t place) const noexcept {
        // acquire: partner is set(); makes the units visible that the writer wrote before
        return first_.load(std::memory_order_acquire) == place ||
               second_.load(std::memory_order_acquire) == place;
    }

private:
    // release: partner is says(): an owner that reads the new place must see what was written to
    // the place before
    void set(std::uint64_t place) noexcept {
        first_.store(place, std::memory_order_release);
        second_.store(place, std::memory_order_release);
    }

    // both words are equal between two calls of set(); writer: the process whose note it is
    Atomic<std::uint64_t> first_{0};
    Atomic<std::uint64_t> second_{0};
};

// What enter() found.
enum class LeaseEntry : std::uint8_t {
    open,     // write, then leave()
    not_now,  // retry later: the owner is deciding, or the state was overwritten
    // the owner revoked the lease, after it had consumed all written units or by close(): take()
    // again
    revoked,
};

struct StandardFence {
    static void order() noexcept { base::fence(std::memory_order_seq_cst); }
};

// The words of a lease in shared memory. If they are zero, take() fails until the owner's
// make_free().
template <template <class> class Atomic = std::atomic>
struct LeaseWords {
    // LeaseState. Writers: take() (free -> held), enter() of a holder that the owner does not know
    // (stores itself as the holder), the owner (the rest)
    Atomic<std::uint64_t> state{0};
    // units that the holder has written. Writers: the holder; the owner while the lease has no
    // holder
    Atomic<std::uint64_t> written{0};
    Atomic<std::uint64_t> inverse{0};  // `written` with all bits inverted. Writers: as of `written`
};

static_assert(sizeof(LeaseWords<>) == 24);

template <template <class> class Atomic = std::atomic, typename FullFence = StandardFence>
class WriteLease {
public:
    //   words   outlive this
    //   number  of the lease; the owner and all holders pass the same one
    explicit WriteLease(LeaseWords<Atomic>& words, std::uint32_t number = 0) noexcept
        : words_(words), number_(number) {}

    // Which thread orders the store of the holder's note before its load of the state.
    enum class Fence : std::uint8_t {
        // the owner executes a barrier on all CPUs between begin_revoke() and is_used_up()
        by_owner,
        by_each  // owner and holder execute a seq_cst fence each
    };

    // --- The owner ---

    // Makes the lease free to take. Call when the place is ready and the lease has no holder.
    void make_free(std::uint32_t generation) noexcept {
        tell(0);
        // release: partner is take(); the place is ready
        words_.state.store(made(LeaseKind::free, generation, 0).word(), std::memory_order_release);
    }

    [[nodiscard]] LeaseState state() const noexcept {
        return {words_.state.load(std::memory_order_relaxed), number_};
    }

    // Begins to revoke the lease from its holder. false: the state is no longer `from`, and
    // unchanged.
    //   from        may be unsound
    [[nodiscard]] bool begin_revoke(LeaseState from, std::uint32_t generation) noexcept {
        const std::uint32_t holder = from.is_sound() ? from.holder() : 0;
        return change(from, made(LeaseKind::revoking, generation, holder));
    }

    // Whether `used` units are all that the holder ever wrote. Certain only for a lease that is
    // being revoked, after the barrier, and after the holder's note did not name the place.
    [[nodiscard]] bool is_used_up(std::uint64_t used) const noexcept {
        // acquire: partner is leave(); the holder's writes come before all that the owner then does
        // to the place
        return words_.written.load(std::memory_order_acquire) == used &&
               words_.inverse.load(std::memory_order_relaxed) == ~used;
    }

    // Makes the lease held again: takes a begin_revoke() back.
    void give_back(std::uint32_t generation, std::uint32_t holder) noexcept {
        words_.state.store(made(LeaseKind::held, generation, holder).word(),
                           std::memory_order_release);
    }

    // Revokes the lease at once, used up or not. The holder may still be writing: call make_free()
    // only after its note no longer names the place.
    //   generation  not the holder's
    void close(std::uint32_t generation) noexcept {
        // seq_cst: comes before the owner's barrier and its loads of notes
        words_.state.store(made(LeaseKind::revoking, generation, 0).word(),
                           std::memory_order_seq_cst);
    }

    // Restores the state of a held lease that was overwritten. Does nothing if the state has
    // changed.
    void mend(LeaseState nonsense, std::uint32_t generation, std::uint32_t holder) noexcept {
        (void)change(nonsense, made(LeaseKind::held, generation, holder));
    }

    // --- Holders ---

    // Takes the lease if it is free, and returns the state to pass to enter(); else an unsound
    // state.
    [[nodiscard]] LeaseState take(std::uint32_t holder) noexcept {
        const LeaseState found = state();
        if (!found.is_sound() || found.kind() != LeaseKind::free) return {};
        const LeaseState mine = made(LeaseKind::held, found.generation(), holder);
        return change(found, mine) ? mine : LeaseState();
    }

    // Call before each write. If this does not return `open`, do not write and do not call leave().
    //   mine   what take() returned
    //   place  what the note names while the caller writes
    [[nodiscard]] LeaseEntry enter(LeaseState mine,
                                   WriterNote<Atomic>& note,
                                   std::uint64_t place,
                                   Fence fence) noexcept {
        note.begin(place);
        if (fence == Fence::by_each) [[unlikely]] {
            FullFence::order();
        } else {
            // This keeps the compiler from reordering the note and the load; the owner's barrier
            // keeps the processor from it.
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        // acquire: the caller's writes come after this load
        const LeaseState now(words_.state.load(std::memory_order_acquire), number_);
        if (now == mine) [[likely]]
            return LeaseEntry::open;
        note.end();
        if (is_of_nobody(now) && now.generation() == mine.generation())
            (void)change(now, made(LeaseKind::revoking, mine.generation(), mine.holder()));
        const bool is_undecided = !now.is_sound() || now.generation() == mine.generation();
        return is_undecided ? LeaseEntry::not_now : LeaseEntry::revoked;
    }

    // Call after each write.   written  all units that the holder has written under this lease
    void leave(WriterNote<Atomic>& note, std::uint64_t written) noexcept {
        tell(written);
        note.end();
    }

    // leave() for several writers that write for one holder, one after the other, and do not know
    // the count.   more  units that this write added. If the count was overwritten it stays so.
    void leave_counting(WriterNote<Atomic>& note, std::uint64_t more) noexcept {
        const std::uint64_t before = words_.written.load(std::memory_order_relaxed);
        if (words_.inverse.load(std::memory_order_relaxed) == ~before) tell(before + more);
        note.end();
    }

private:
    [[nodiscard]] LeaseState made(LeaseKind kind,
                                  std::uint32_t generation,
                                  std::uint32_t holder) const noexcept {
        return {kind, generation, holder, number_};
    }

    // Whether the owner found an overwritten state of a lease whose holder it does not know.
    [[nodiscard]] static bool is_of_nobody(LeaseState state) noexcept {
        return state.is_sound() && state.kind() == LeaseKind::revoking && state.holder() == 0;
    }

    [[nodiscard]] bool change(LeaseState from, LeaseState to) noexcept {
        std::uint64_t word = from.word();
        // seq_cst: begin_revoke() comes before the owner's loads of notes; acquire for take(): the
        // place is ready
        return words_.state.compare_exchange_strong(word, to.word(), std::memory_order_seq_cst,
                                                    std::memory_order_relaxed);
    }

    void tell(std::uint64_t written) noexcept {
        words_.inverse.store(~written, std::memory_order_relaxed);
        // release: partner is is_used_up()
        words_.written.store(written, std::memory_order_release);
    }

    LeaseWords<Atomic>& words_;
    std::uint32_t number_;
};

}  // namespace acp::sync
