// SPDX-License-Identifier: BSD-3-Clause
// The shared memory of a call ring (ring.hpp): a head, then a power of two of slots. Offsets only,
// no pointers; zero bytes are an empty ring. One process is the client, which posts calls; one
// thread of another process is the server, which runs them. All fields are atomics, so that a
// process that is killed between two stores leaves no field half written.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sync/bell.hpp"

namespace acp::call {

// Two cache lines, because processors fetch lines in pairs. A call of up to five words, and its
// answer, use only the first line.
inline constexpr std::size_t slot_bytes = 128;

// Words of a call that a slot holds.
inline constexpr std::size_t slot_words = 13;

inline constexpr std::uint32_t slots_max = 4096;

inline constexpr std::size_t owner_bells_max = 2;

// A call passes through its phases in this order; cancelled calls skip `claimed`.
enum class CallPhase : std::uint64_t {
    none,       // the slot was never used
    posted,     // by the client: the server may claim it, the client may cancel it
    claimed,    // by the server: its function may have begun
    cancelled,  // by the client: its function will not run; the server still answers it
    answered,   // by the server: the client may read the answer and use the slot again
};

// The state word of a slot: the number of the call (its ticket) and its phase. Tickets of a ring
// count from 0 and are never used twice, so a state word never returns to an earlier value, and a
// later state of a slot is a greater number.
struct CallState {
    static constexpr unsigned phase_bits = 3;

    [[nodiscard]] static constexpr std::uint64_t word(std::uint64_t ticket,
                                                      CallPhase phase) noexcept {
        return ticket << phase_bits | static_cast<std::uint64_t>(phase);
    }

    [[nodiscard]] static constexpr CallPhase phase_of(std::uint64_t word) noexcept {
        return static_cast<CallPhase>(word & ((std::uint64_t{1} << phase_bits) - 1));
    }

    // Whether a state word shows that the call of the ticket was answered, or that a later call
    // uses the slot, which implies it.
    [[nodiscard]] static constexpr bool is_answered(std::uint64_t word,
                                                    std::uint64_t ticket) noexcept {
        return word >= CallState::word(ticket, CallPhase::answered);
    }
};

// Writers: `state` both sides, by the rules of CallPhase. `target`, `shape` and `words` the client
// before it posts; then the server, before it answers: `target` becomes the outcome and words[0]
// the result.
template <template <class> class Atomic>
struct alignas(slot_bytes) CallSlot {
    Atomic<std::uint64_t> state;   // CallState
    Atomic<std::uint64_t> target;  // CallRequest::target, or CallEnd
    Atomic<std::uint64_t> shape;   // CallRequest::shape
    std::array<Atomic<std::uint64_t>, slot_words>
        words;  // CallRequest::words; [0]: CallAnswer::result
};

static_assert(sizeof(CallSlot<std::atomic>) == slot_bytes);
static_assert(offsetof(CallSlot<std::atomic>, words) == 24);

// Each group of fields with one writer has a pair of lines.
template <template <class> class Atomic>
struct RingHead {
    // Server threads that wait for a call sleep on it. Writers: as sync/bell.hpp.
    alignas(slot_bytes) sync::Bell<Atomic> server_bell;
    // Client threads that wait for an answer, or for a free slot, sleep on it.
    alignas(slot_bytes) sync::Bell<Atomic> client_bell;
    // Writer: the server. The number of calls that it has answered; after its death perhaps one
    // less.
    alignas(slot_bytes) Atomic<std::uint64_t> answered;
    // Writer: the server. How many servers have begun to serve this ring.
    Atomic<std::uint32_t> epoch;
    // Writer: the client. 1 + the ticket of the latest claimed call that it asked to end early;
    // 0: none.
    alignas(slot_bytes) Atomic<std::uint64_t> asked_to_end;
    // Writer: the client. Offsets in the memory of the device of bells (sync/bell.hpp) that the server
    // rings when client_bell had a sleeper: threads of the client that wait for several rings sleep
    // on them. 0: there is none.
    std::array<Atomic<std::uint64_t>, owner_bells_max> owner_bells;
};

static_assert(sizeof(RingHead<std::atomic>) == 4 * slot_bytes);

[[nodiscard]] constexpr bool is_slot_count(std::uint64_t slots) noexcept {
    return slots >= 1 && slots <= slots_max && (slots & (slots - 1)) == 0;
}

// Bytes of a ring.   slots  1 .. slots_max, a power of two
[[nodiscard]] constexpr std::uint64_t ring_bytes(std::uint32_t slots) noexcept {
    return sizeof(RingHead<std::atomic>) + std::uint64_t{slots} * slot_bytes;
}

// A ring as one process has it mapped. Does not own the memory.
template <template <class> class Atomic = std::atomic>
struct RingView {
    RingHead<Atomic>* head = nullptr;
    CallSlot<Atomic>* slots = nullptr;
    std::uint32_t slot_count = 0;  // 1 .. slots_max, a power of two

    // Makes the view of a ring in mapped memory.
    //   memory  ring_bytes(slot_count), aligned to slot_bytes, zeroed before its first use
    [[nodiscard]] static RingView of(std::byte* memory, std::uint32_t slot_count) noexcept {
        auto* head = reinterpret_cast<RingHead<Atomic>*>(memory);
        return {head, reinterpret_cast<CallSlot<Atomic>*>(head + 1), slot_count};
    }

    [[nodiscard]] CallSlot<Atomic>& slot_of(std::uint64_t ticket) const noexcept {
        return slots[ticket & (slot_count - 1)];
    }
};

}  // namespace acp::call
