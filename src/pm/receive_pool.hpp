// SPDX-License-Identifier: BSD-3-Clause
// The receiver's side of the pool of rings of one process. A sender takes a lease of a ring
// (sync/lease.hpp). This class receives messages, in each sender's order and fairly among senders;
// repairs overwritten words; and, when a sender finds no free lease, revokes the leases that were
// silent longest. Knows no network and no clock. Used by the receiver's thread.
//
// POLLING. The receiver polls the rings that it watches, at most `watched_max`. The sender of any
// other ring must call: after each record it loads is_watched, and if that is 0 it sets the ring's
// bit in the desk's `calls`. To end a watch the receiver stores 0, executes a barrier on all CPUs,
// and polls the ring once more: it finds a record whose sender still loaded 1.
//
// tend(), every 0.25 ms while calls are made, and before a sleep:
//   a record is missing     polls the ring, as the call may be lost; RingReceiver::recover()
//   the ring is empty       grants credit for all released lines
//   a credit is overwritten stores it again for a sender on this node; others ask for it
//   a state is overwritten  restores it if the Hello named the holder, else revokes the lease
//   the holder is dead      revokes the lease after all records were received
//   a sender wants a lease  revokes the quarter silent longest; wakes the node's sleepers
// Tests: tests/unit/pm/pool_test.cpp, pool_corruption_test.cpp, pool_kill_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "message/ring.hpp"

#include "pm/inlet_path.hpp"
#include "pm/pool_layout.hpp"

namespace acp::pm {

// Host gives a pool access to other processes; Atomic is the template of words in shared memory.
//   fence()                      which side executes the fence (sync::WriteLease::Fence)
//   barrier()                    a full barrier on all CPUs, for threads that execute no fence
//   process()                    the process that owns the pool
//   connect(path, hello, index)  connects a ring's path to the sender in `hello`; false: not now
//   writes(process, place)       whether the process's note (sync/lease.hpp) names the place;
//                                process nobody: whether any living writer's note does
//   is_gone(process)             whether the process will never write again
//   wake(process), ring_all()    wake sleepers of one process, of all processes, on this node
template <typename Host, template <class> class Atomic = std::atomic>
class ReceivePool {
public:
    using WayToSender = InletPath<Atomic>;

    static constexpr std::uint32_t watched_max = 8;

    // Throws std::bad_alloc.   memory  pool_bytes, aligned to lines, unused; outlives this, as host
    ReceivePool(Host& host, char* memory) : host_(host), memory_(memory) {
        new (memory) sync::LeaseDesk<Atomic>;
        inlets_ = std::make_unique<std::array<std::unique_ptr<Inlet>, leases>>();
        for (std::uint32_t i = 0; i < leases; ++i) {
            new (memory + lease_offset(i)) sync::LeasedLine<Atomic>;
            (*inlets_)[i] = std::make_unique<Inlet>(memory + ring_offset(i), host.fence());
            make_free(i);
        }
    }

    ReceivePool(const ReceivePool&) = delete;
    ReceivePool& operator=(const ReceivePool&) = delete;
    ~ReceivePool() = default;

    // Two words, so that functions return it in registers.
    struct Message {
        const char* data = nullptr;  // aligned to 8 bytes; nullptr: there is no message
        std::uint32_t bytes = 0;
        std::uint32_t source = 0;  // the process that sent it
    };

    // The next message, in place until release(), which must precede the next receive().
    [[nodiscard]] Message receive() noexcept {
        end_released();
        if (burst_ < burst_max && (looked_ & bit_of(current_)) != 0) [[likely]] {
            Inlet& from = inlet(current_);
            const message::ReceivedRecord found = from.ring.receive();
            if (found.data != nullptr && is_message(found.tag)) [[likely]] {
                ++burst_;
                is_held_ = true;
                return {found.data, found.bytes, from.holder};
            }
        }
        return receive_in_turn();
    }

    // Releases the message. The stores, to lines in the sender's cache, are made by the next call,
    // so that they do not delay a reply that the caller sends first.
    void release() noexcept {
        is_held_ = false;
        is_release_due_ = true;
    }

    // Does the work in the table above.
    void tend(std::uint64_t now_ns) noexcept {
        now_ns_ = now_ns;
        end_released();
        for (std::uint32_t i = 0; i < leases; ++i) tend(i);
        if (desk().wanted.load(std::memory_order_relaxed) != 0) {
            desk().wanted.store(0, std::memory_order_relaxed);
            is_wanted_ = true;
        }
        if (is_wanted_) choose_silent();
        revoke_chosen();
        if (is_wanted_ && has_free()) {
            is_wanted_ = false;
            host_.ring_all();
        }
    }

    // Drops all messages, and revokes all leases: a sender finds that with its next message.
    void close() noexcept {
        looked_ = chosen_ = 0;
        is_held_ = false;
        is_release_due_ = false;
        dropped_ = ~std::uint64_t{0};
        for (std::uint32_t i = 0; i < leases; ++i) {
            Inlet& of = inlet(i);
            of.generation = (of.generation + 1) % sync::LeaseState::generations;
            of.holder = nobody;
            lease(i).close(of.generation);
        }
    }

    // Makes leases free after close(). A ring into which a sender is writing stays unusable, and
    // its records unseen, until tend() finds that the write has ended.
    void open() noexcept {
        chosen_ |= dropped_;
        revoke_chosen();
    }

    // Returns the process that holds a lease; that is no process until a holder's Hello has arrived.
    [[nodiscard]] std::uint32_t holder_of(std::uint32_t index) const noexcept {
        return (*inlets_)[index]->holder;
    }

    // Lines of a ring that were released under its present lease.
    [[nodiscard]] std::uint64_t released_of(std::uint32_t index) const noexcept {
        return (*inlets_)[index]->ring.released();
    }

    // Memory of the receiver alone, beside the shared block.
    [[nodiscard]] static constexpr std::uint64_t private_bytes() noexcept {
        return sizeof(ReceivePool) + leases * (sizeof(Inlet) + sizeof(void*));
    }

private:
    // Messages of one ring before other rings are polled.
    static constexpr std::uint32_t burst_max = 16;
    // Polls without a record after which another ring may be watched instead.
    static constexpr std::uint64_t idle_looks_max = 1024;
    static constexpr std::uint32_t revoked_at_once = leases / 4;
    // Age of a missing record at which its sender is woken, in case it sleeps.
    static constexpr std::uint64_t wake_after_ns = 5'000'000;
    // Age up to which a missing record from another node counts as late, not lost.
    static constexpr std::uint64_t late_ns = 1'000'000;

    struct Inlet {
        Inlet(char* memory, typename WayToSender::Fence fence)
            : ring(WayToSender(memory, fence), ring_shape, message::RingKey(0)) {}

        message::RingReceiver<WayToSender, PoolRingShape> ring;
        std::uint32_t generation = 0;
        std::uint32_t holder = nobody;  // named by its Hello
        bool is_watched = false;
        std::uint64_t last_look = 0;         // number of the last poll with a record
        std::uint64_t missing_since_ns = 0;  // 0: no record is missing
        std::uint64_t missing_line = 0;      // where the missing record begins
    };

    [[nodiscard]] sync::LeaseDesk<Atomic>& desk() const noexcept {
        return *reinterpret_cast<sync::LeaseDesk<Atomic>*>(memory_);
    }

    [[nodiscard]] sync::LeasedLine<Atomic>& line(std::uint32_t index) const noexcept {
        return *reinterpret_cast<sync::LeasedLine<Atomic>*>(memory_ + lease_offset(index));
    }

    [[nodiscard]] sync::WriteLease<Atomic> lease(std::uint32_t index) const noexcept {
        return sync::WriteLease<Atomic>(line(index).words, index);
    }

    [[nodiscard]] Inlet& inlet(std::uint32_t index) noexcept { return *(*inlets_)[index]; }

    [[nodiscard]] static constexpr std::uint64_t bit_of(std::uint32_t index) noexcept {
        return std::uint64_t{1} << index;
    }

    // --- Looking ---

    // Receives if the current ring has no record, or has given burst_max in a row: from the rings
    // after it, and from it last.
    [[gnu::noinline]] Message receive_in_turn() noexcept {
        for (;;) {
            const message::ReceivedRecord found = find();
            if (found.data == nullptr) return {};
            Inlet& from = inlet(current_);
            if (is_message(found.tag)) [[likely]] {
                is_held_ = true;
                return {found.data, found.bytes, from.holder};
            }
            if (!connect(from, found.data)) return {};  // retried by the next call
            end_record(from);
        }
    }

    [[nodiscard]] message::ReceivedRecord find() noexcept {
        ++looks_;
        const message::ReceivedRecord found = look_around();
        if (found.data != nullptr) return found;
        if (desk().calls.load(std::memory_order_relaxed) == 0) return {};
        // acquire: makes the records visible; partner: NearOutlet::call()
        looked_ |= desk().calls.exchange(0, std::memory_order_acquire) & ~dropped_;
        return look_around();
    }

    [[nodiscard]] message::ReceivedRecord look_around() noexcept {
        const std::uint64_t behind = ~std::uint64_t{0} << 1 << current_;
        for (std::uint64_t rest : {looked_ & behind, looked_ & ~behind}) {
            for (; rest != 0; rest &= rest - 1) {
                const auto index = static_cast<std::uint32_t>(std::countr_zero(rest));
                const message::ReceivedRecord found = look_at(index);
                if (found.data != nullptr) return found;
            }
        }
        return {};
    }

    [[nodiscard]] message::ReceivedRecord look_at(std::uint32_t index) noexcept {
        Inlet& of = inlet(index);
        const message::ReceivedRecord found = of.ring.receive();
        if (found.data == nullptr) {
            // The sender of an unwatched ring calls after its next record.
            if (!of.is_watched) looked_ &= ~bit_of(index);
            return {};
        }
        current_ = index;
        burst_ = 1;
        of.last_look = looks_;
        if (!of.is_watched) [[unlikely]]
            watch(index);
        return found;
    }

    // Watches a ring. If watched_max are watched, it replaces one that was silent for
    // idle_looks_max; without such a ring, nothing is done.
    void watch(std::uint32_t index) noexcept {
        if (watched_ == watched_max) {
            std::uint32_t silent = leases;
            for (std::uint32_t i = 0; i < leases; ++i) {
                const Inlet& of = inlet(i);
                if (of.is_watched && looks_ - of.last_look > idle_looks_max) silent = i;
            }
            if (silent == leases) return;
            end_watch(silent);
        }
        inlet(index).is_watched = true;
        ++watched_;
        line(index).is_watched.store(1, std::memory_order_relaxed);
    }

    // Sets the ring's bit in looked_ after the barrier: it is polled once more.
    void end_watch(std::uint32_t index) noexcept {
        if (!std::exchange(inlet(index).is_watched, false)) return;
        --watched_;
        line(index).is_watched.store(0, std::memory_order_relaxed);
        host_.barrier();
        looked_ |= bit_of(index);
    }

    [[nodiscard]] bool connect(Inlet& of, const char* record) noexcept {
        Hello hello;
        std::memcpy(&hello, record, sizeof hello);
        if (!host_.connect(of.ring.path(), hello, current_)) return false;
        of.holder = hello.process;
        return true;
    }

    void end_released() noexcept {
        if (std::exchange(is_release_due_, false)) end_record(inlet(current_));
    }

    void end_record(Inlet& of) noexcept {
        if (of.ring.release()) [[unlikely]]
            host_.wake(of.holder);
    }

    // --- Tending ---

    void tend(std::uint32_t index) noexcept {
        Inlet& of = inlet(index);
        // Stored at each call, in case it was overwritten.
        line(index).is_watched.store(of.is_watched ? 1 : 0, std::memory_order_relaxed);
        if ((dropped_ & bit_of(index)) != 0) {
            chosen_ |= bit_of(index);
            return;
        }
        const sync::LeaseState state = lease(index).state();
        if (!is_plausible(of, state)) return mend(index, state);
        if (state.kind() == sync::LeaseKind::free) {
            // Its count of written lines must be 0. Otherwise no holder will store it again:
            // revoking resets it.
            if (!lease(index).is_used_up(0)) chosen_ |= bit_of(index);
            return;
        }
        if (state.kind() == sync::LeaseKind::revoking) {
            if (of.holder == nobody) {
                chosen_ |= bit_of(index);
            } else {
                lease(index).give_back(of.generation, held_by(of.holder));
            }
        }
        look_for_missing(index);
        if (holds_message(index) || of.ring.has_record()) return;
        tell(index);
        const std::uint32_t holder = of.holder != nobody ? of.holder : holder_in(state);
        if (holder != nobody && host_.is_gone(holder)) end_of_holder(index);
    }

    // Whether this can be the lease's state; false: the word was overwritten.
    [[nodiscard]] static bool is_plausible(const Inlet& of, sync::LeaseState state) noexcept {
        if (!state.is_sound() || state.generation() != of.generation) return false;
        return of.holder == nobody || holder_in(state) == of.holder;
    }

    // Repairs an overwritten state. A known holder's state is restored. Otherwise a sender may have
    // taken the lease whose Hello has not arrived: it is revoked.
    void mend(std::uint32_t index, sync::LeaseState nonsense) noexcept {
        const Inlet& of = inlet(index);
        if (of.holder != nobody)
            return lease(index).mend(nonsense, of.generation, held_by(of.holder));
        chosen_ |= bit_of(index);
        look_for_missing(index);
    }

    // Notices records that were written and have not arrived, and recovers them.
    void look_for_missing(std::uint32_t index) noexcept {
        Inlet& of = inlet(index);
        if (lease(index).is_used_up(of.ring.released())) {
            of.missing_since_ns = 0;
            return;
        }
        looked_ |= bit_of(index);
        if (holds_message(index) || of.ring.has_record()) return;
        if (of.missing_since_ns == 0 || of.missing_line != of.ring.released()) {
            of.missing_since_ns = now_ns_;
            of.missing_line = of.ring.released();
        }
        // Words from another node arrive in any order, often late and seldom lost.
        if (of.ring.path().is_far() && now_ns_ - of.missing_since_ns < late_ns) return;
        of.ring.recover();
        if (now_ns_ - of.missing_since_ns < wake_after_ns || of.holder == nobody) return;
        of.missing_since_ns = 0;
        host_.wake(of.holder);  // a sleeping sender has not seen recover()'s request
    }

    // For an empty ring: grants its released lines if the sender asks or some were not granted, and
    // repairs an overwritten credit.
    void tell(std::uint32_t index) noexcept {
        Inlet& of = inlet(index);
        auto& asks = line(index).asks;
        // relaxed: an unanswered sender asks again
        const bool is_asked = asks.load(std::memory_order_relaxed) != 0;
        if (is_asked) asks.store(0, std::memory_order_relaxed);
        if (is_asked || !of.ring.has_told_all()) {
            if (of.ring.tell_released()) host_.wake(of.holder);
        } else if (!of.ring.path().is_far() && of.ring.is_credit_damaged()) {
            of.ring.tell_again();
        }
    }

    // The holder is gone and its ring looked empty. recover() finds a whole record without header;
    // if there is none the lease is revoked: a gateway may still write for the holder.
    void end_of_holder(std::uint32_t index) noexcept {
        Inlet& of = inlet(index);
        of.ring.recover();
        (of.ring.has_record() ? looked_ : chosen_) |= bit_of(index);
    }

    // --- Leases ---

    // Makes a lease without holder free. Its ring starts over under a new key.
    void make_free(std::uint32_t index) noexcept {
        Inlet& of = inlet(index);
        end_watch(index);
        looked_ &= ~bit_of(index);
        of.generation = (of.generation + 1) % sync::LeaseState::generations;
        of.holder = nobody;
        dropped_ &= ~bit_of(index);
        of.missing_since_ns = 0;
        of.ring.path().set_unknown();
        (void)of.ring.open(key_of(index, of.generation));
        lease(index).make_free(of.generation);
    }

    [[nodiscard]] bool has_free() const noexcept {
        for (std::uint32_t i = 0; i < leases; ++i) {
            const sync::LeaseState state = lease(i).state();
            if (state.is_sound() && state.kind() == sync::LeaseKind::free) return true;
        }
        return false;
    }

    // Chooses leases to revoke: empty rings, silent longest first. Chooses none if a lease is free.
    void choose_silent() noexcept {
        if (has_free()) return;
        std::array<std::uint32_t, leases> silent{};
        std::uint32_t count = 0;
        for (std::uint32_t i = 0; i < leases; ++i) {
            if (lease(i).is_used_up(inlet(i).ring.released())) silent[count++] = i;
        }
        std::sort(silent.begin(), silent.begin() + count, [this](std::uint32_t a, std::uint32_t b) {
            return inlet(a).last_look < inlet(b).last_look;
        });
        for (std::uint32_t i = 0; i < std::min(count, revoked_at_once); ++i)
            chosen_ |= bit_of(silent[i]);
    }

    // Revokes the leases in chosen_ that can be revoked now; one barrier serves all.
    void revoke_chosen() noexcept {
        std::uint64_t begun = 0;
        for (std::uint64_t rest = std::exchange(chosen_, 0); rest != 0; rest &= rest - 1) {
            const auto index = static_cast<std::uint32_t>(std::countr_zero(rest));
            if (begin_revoke(index)) begun |= bit_of(index);
        }
        if (begun == 0) return;
        host_.barrier();
        for (; begun != 0; begun &= begun - 1)
            end_revoke(static_cast<std::uint32_t>(std::countr_zero(begun)));
    }

    [[nodiscard]] bool begin_revoke(std::uint32_t index) noexcept {
        const sync::LeaseState state = lease(index).state();
        const bool is_begun =
            is_plausible(inlet(index), state) && state.kind() == sync::LeaseKind::revoking;
        return is_begun || lease(index).begin_revoke(state, inlet(index).generation);
    }

    void end_revoke(std::uint32_t index) noexcept {
        const Inlet& of = inlet(index);
        const bool is_dropped = (dropped_ & bit_of(index)) != 0;
        const std::uint32_t holder =
            of.holder != nobody ? of.holder : holder_in(lease(index).state());
        if (!writes(holder, index) && (is_dropped || has_nothing_left(index, holder)))
            return make_free(index);
        // With an unknown holder the lease stays in `revoking`, and tend() retries.
        if (holder != nobody) lease(index).give_back(of.generation, held_by(holder));
    }

    // No process writes now. Two overwrites during a gateway's write can make the counts those of
    // an unused ring, so the ring is checked too. For an unknown holder only the ring is evidence;
    // records of a gone holder that have not arrived never will.
    [[nodiscard]] bool has_nothing_left(std::uint32_t index, std::uint32_t holder) noexcept {
        Inlet& of = inlet(index);
        if (holder != nobody && host_.is_gone(holder)) {
            of.ring.recover();
            return !of.ring.has_record();
        }
        if (of.holder != nobody && !lease(index).is_used_up(of.ring.released())) return false;
        if (of.holder == nobody) of.ring.recover();
        return !of.ring.has_any_record();
    }

    // Whether the holder writes into the ring now; if the holder is unknown or gone: any process.
    [[nodiscard]] bool writes(std::uint32_t holder, std::uint32_t index) const noexcept {
        const bool is_there = holder != nobody && !host_.is_gone(holder);
        return host_.writes(is_there ? holder : nobody, place_of(host_.process(), index));
    }

    [[nodiscard]] bool holds_message(std::uint32_t index) const noexcept {
        return is_held_ && index == current_;
    }

    // Returns the process that a lease's state names as its holder.
    [[nodiscard]] static std::uint32_t holder_in(sync::LeaseState state) noexcept {
        return state.holder() - 1;
    }

    Host& host_;
    char* memory_;
    std::unique_ptr<std::array<std::unique_ptr<Inlet>, leases>> inlets_;
    std::uint64_t looked_ = 0;     // bits: watched rings, and rings whose sender called
    std::uint64_t chosen_ = 0;     // bits: leases to be revoked
    std::uint64_t dropped_ = 0;    // bits: leases that close() revoked and that are not free yet
    std::uint32_t current_ = 0;    // the ring of the last record
    std::uint32_t burst_ = 0;      // its records in a row
    bool is_held_ = false;         // its message is between receive() and release()
    bool is_release_due_ = false;  // its message was released by the caller
    bool is_wanted_ = false;       // a sender has found no free lease since one was last free
    std::uint32_t watched_ = 0;    // number of watched rings
    std::uint64_t looks_ = 0;      // number of polls of all rings
    std::uint64_t now_ns_ = 0;
};

}  // namespace acp::pm
