// SPDX-License-Identifier: BSD-3-Clause
// A lease of a place in shared memory: any process takes it when it is free, writes into the place by turns, and keeps it without a lock;
// the place's owner takes it back without asking, but only where everything that was written has been used up. Knows nothing of what is
// written, and counts it in units of its users. Lives in shared memory. The owner is one thread, and so is a holder; any thread may try to
// take.
//
//     holder                                          owner
//     take(): free -> held
//     enter(): "I write here" ; is it still mine?     begin_revoke(): held -> being revoked
//       no, being revoked: come again                 (a barrier on all CPUs, or a sequentially consistent fence on both sides)
//       no, another generation: it was taken back     the holder does not write, and is_used_up()? ready the place, make_free()
//     write; leave(): "so much was written"           else give_back(): held, as before
//
// Either the owner sees that the holder writes, or the holder sees that the lease is being revoked. What was written and is used up needs
// its writer no more, so a lease that was taken back costs its holder nothing but another take(). "I write here" stands in a note of the
// writer, not in the lease: a holder that does not yet know that its lease is another's must not touch the lease.
//
// WORDS OVERWRITTEN. The state has a check. A holder that reads nonsense tries again later. The owner, if it knows the holder, writes the state
// anew; if not, it writes "revoking, holder 0". A holder that reads this with its own generation knows that it is meant, and enters itself as the
// holder. A note, and what was written, are told twice: where the two words differ, the holder is taken for one who writes, until it tells them
// anew with its next write.
//
// WHEN A SIDE DIES OR STOPS. take() is one instruction. A holder that stops between enter() and leave() keeps the lease. Of a holder that
// is dead the owner uses up what there is, and calls make_free(). An owner that dies leaves a place that nobody takes back.
// A lease is known by its generation, of which there are 2^18: a holder that slept while the lease was given to so many is a stranger to it.
// Tests: tests/unit/sync/lease_test.cpp, under the seeded scheduler.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/fence.hpp"

namespace acp::sync {

enum class LeaseKind : std::uint8_t {
    free = 1,
    held = 2,
    revoking = 3,  // its owner is about to take it back, or not
};

// The state of a lease: a word that is 0 for none. Of random words one in 2^24 is sound, and so it is with the state of another lease.
class LeaseState {
public:
    static constexpr std::uint32_t holder_max = (1U << 20) - 1;
    static constexpr std::uint32_t generations = 1U << 18;

    constexpr LeaseState() noexcept = default;

    //   lease  the number of the lease, so that no two have a state in common
    constexpr LeaseState(std::uint64_t word, std::uint32_t lease) noexcept
        : word_(word), lease_(lease) {}

    //   generation  < generations; counts how often the lease was made free
    //   holder      <= holder_max; 0 of one that is free
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

    // Of a sound one.

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

// Where a writer says where it writes: a number that it chooses, not 0. In memory that the owners of its leases have mapped.
template <template <class> class Atomic = std::atomic>
class WriterNote {
public:
    void begin(std::uint64_t place) noexcept { set(place); }

    void end() noexcept { set(0); }

    [[nodiscard]] bool says(std::uint64_t place) const noexcept {
        // acquire: partner is set(); what was written before is there
        return first_.load(std::memory_order_acquire) == place ||
               second_.load(std::memory_order_acquire) == place;
    }

private:
    // release: partner is says(), which must not find a new place and miss what was written at the one before
    void set(std::uint64_t place) noexcept {
        first_.store(place, std::memory_order_release);
        second_.store(place, std::memory_order_release);
    }

    Atomic<std::uint64_t> first_{0};  // the same twice; writer: the one whose note it is
    Atomic<std::uint64_t> second_{0};
};

// What enter() found.
enum class LeaseEntry : std::uint8_t {
    open,     // write, then leave()
    not_now,  // the owner is about to decide, or the state is nonsense
    revoked,  // the lease is another's by now, and all that was written under it was used up
};

struct StandardFence {
    static void order() noexcept { base::fence(std::memory_order_seq_cst); }
};

// A lease as it lies in shared memory. Zeros are one that nobody can take.
template <template <class> class Atomic = std::atomic>
struct LeaseWords {
    Atomic<std::uint64_t> state{
        0};  // LeaseState. Writers: takers (free -> held), a holder that is not known (itself), the owner (the rest)
    Atomic<std::uint64_t> written{
        0};  // units. Writers: the holder; the owner, where nobody holds it
    Atomic<std::uint64_t> inverse{0};  // all bits of written inverted. Writers: likewise
};

static_assert(sizeof(LeaseWords<>) == 24);

template <template <class> class Atomic = std::atomic, typename FullFence = StandardFence>
class WriteLease {
public:
    //   words   outlive this
    //   number  of the lease, the same for all
    explicit WriteLease(LeaseWords<Atomic>& words, std::uint32_t number = 0) noexcept
        : words_(words), number_(number) {}

    // What orders "I write here" before the look at the state.
    enum class Fence : std::uint8_t {
        by_owner,  // the owner's barrier on the CPUs of all, between begin_revoke() and is_used_up()
        by_each    // a sequentially consistent fence of each
    };

    // --- The owner ---

    // Makes the lease one that may be taken. The place is ready, and nobody holds the lease.
    void make_free(std::uint32_t generation) noexcept {
        tell(0);
        // release: partner is take(); the place is ready
        words_.state.store(made(LeaseKind::free, generation, 0).word(), std::memory_order_release);
    }

    [[nodiscard]] LeaseState state() const noexcept {
        return {words_.state.load(std::memory_order_relaxed), number_};
    }

    // Begins to take the lease back from whoever has it. false: the state is no longer `from`.
    //   from  also one that is not sound
    [[nodiscard]] bool begin_revoke(LeaseState from, std::uint32_t generation) noexcept {
        const std::uint32_t holder = from.is_sound() ? from.holder() : 0;
        return change(from, made(LeaseKind::revoking, generation, holder));
    }

    // Of a lease that is being revoked, after the barrier, and after the holder's note has not said that it writes here: whether `used`
    // units are all that was ever written. Else a guess.
    [[nodiscard]] bool is_used_up(std::uint64_t used) const noexcept {
        // acquire: partner is leave(); the holder's writes come before whatever the owner does to the place
        return words_.written.load(std::memory_order_acquire) == used &&
               words_.inverse.load(std::memory_order_relaxed) == ~used;
    }

    // Makes it held: ends a begin_revoke() that came too early.
    void give_back(std::uint32_t generation, std::uint32_t holder) noexcept {
        words_.state.store(made(LeaseKind::held, generation, holder).word(),
                           std::memory_order_release);
    }

    // Takes the lease from whoever has it, used up or not. The holder may go on writing until its note no longer says so: make_free() waits for that.
    //   generation  another one than that of the holder
    void close(std::uint32_t generation) noexcept {
        // seq_cst: comes before the owner's barrier and looks
        words_.state.store(made(LeaseKind::revoking, generation, 0).word(),
                           std::memory_order_seq_cst);
    }

    // The same as give_back() where there is nonsense.
    void mend(LeaseState nonsense, std::uint32_t generation, std::uint32_t holder) noexcept {
        (void)change(nonsense, made(LeaseKind::held, generation, holder));
    }

    // --- Whoever wants to write ---

    // Takes the lease if it is free. The state that is the caller's then; else one that is not sound.
    [[nodiscard]] LeaseState take(std::uint32_t holder) noexcept {
        const LeaseState found = state();
        if (!found.is_sound() || found.kind() != LeaseKind::free) return {};
        const LeaseState mine = made(LeaseKind::held, found.generation(), holder);
        return change(found, mine) ? mine : LeaseState();
    }

    // Before each write. Where it is not open, there is nothing to leave.
    //   mine   of take()
    //   place  what the owner looks for in the note
    [[nodiscard]] LeaseEntry enter(LeaseState mine,
                                   WriterNote<Atomic>& note,
                                   std::uint64_t place,
                                   Fence fence) noexcept {
        note.begin(place);
        if (fence == Fence::by_each) [[unlikely]] {
            FullFence::order();
        } else {
            // The processor is held by the owner's barrier, the compiler by this.
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        // acquire: nothing that follows is done before it
        const LeaseState now(words_.state.load(std::memory_order_acquire), number_);
        if (now == mine) [[likely]]
            return LeaseEntry::open;
        note.end();
        if (is_of_nobody(now) && now.generation() == mine.generation())
            (void)change(now, made(LeaseKind::revoking, mine.generation(), mine.holder()));
        const bool is_undecided = !now.is_sound() || now.generation() == mine.generation();
        return is_undecided ? LeaseEntry::not_now : LeaseEntry::revoked;
    }

    // After each write.   written  units that the holder has written by now
    void leave(WriterNote<Atomic>& note, std::uint64_t written) noexcept {
        tell(written);
        note.end();
    }

    // The same where several write for the holder, one after the other, and none knows what was written before.   more  units
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

    // The owner found nonsense, and does not know the holder.
    [[nodiscard]] static bool is_of_nobody(LeaseState state) noexcept {
        return state.is_sound() && state.kind() == LeaseKind::revoking && state.holder() == 0;
    }

    [[nodiscard]] bool change(LeaseState from, LeaseState to) noexcept {
        std::uint64_t word = from.word();
        // seq_cst: begin_revoke() comes before the owner's looks; acquire for take(): the place is ready
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
