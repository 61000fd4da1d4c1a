// SPDX-License-Identifier: BSD-3-Clause
// An in-order ring of calls from a client process to one server thread of another process. CallRequest
// and answer of a call are in the same slot, so that a call moves one pair of cache lines to the
// server and back. Knows no function, no futex, no clock; the meaning of the words of a call is its
// owner's (arguments.hpp).
// Tests: tests/unit/call/ring_test.cpp (seeded scheduler), ring_kill_test.cpp (kills and stops).
//
//     client                                        server
//     room? words -> slot                           state is posted?
//     posted -> state    (exchange)                 posted -> claimed   (compare-and-swap)
//     does the server sleep? wake it                run the function
//     state is answered?                            outcome, result -> slot
//     read them, in the order of the tickets        answered -> state   (exchange)
//                                                   does the client sleep? wake it
//
// CONTRACT. Calls begin in the order in which they were posted, and each one ends before the next
// begins. Each posted call gets exactly one answer, and its function runs at most once. cancel()
// returns `cancelled` for a call only if its function never runs.
//
// SLEEPING is the owner's task, on the bells of the head: announce(), a seq_cst fence, one more
// poll (next(), is_answered(), or take() before a post), futex wait on the bell's word.
//
// DEATHS AND STOPS. A client that dies leaves whole calls, which the server runs and answers; the
// next slot stays empty. A server that dies leaves at most one call claimed. Another server that
// begins on the same ring (begin()) answers that call with CallEnd::ended and continues with the
// next one. Without another server the client's owner ends all calls that were not answered;
// has_begun() shows whether a function may have run. A process that reports a death must ring both bells and wake their sleepers. A
// stopped side delays only the other one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "base/assert.hpp"

#include "call/ring_layout.hpp"

namespace acp::call {

// What the client posts. The server's owner gives the fields their meaning.
struct CallRequest {
    std::uint64_t target = 0;  // e.g. the address of a function
    std::uint64_t shape = 0;   // e.g. number and kinds of the words
    std::array<std::uint64_t, slot_words> words{};
    std::uint32_t word_count = 0;  // 0 .. slot_words: the words that post() copies
};

// How a call ended.
enum class CallEnd : std::uint64_t {
    returned,   // result: what the function returned
    cancelled,  // the function did not run
    refused,    // the function did not run: the server found a field that it cannot use
    faulted,    // the function was ended by a fault; result: the number of the signal
    thrown,     // the function was ended by an exception of C++
    ended,      // the server died; the function may have run in part
};

struct CallAnswer {
    std::uint64_t ticket;
    CallEnd outcome;
    std::uint64_t result;
};

struct Posted {
    std::uint64_t ticket;
    bool is_server_asleep;  // the caller must wake all on the server's bell
};

enum class Cancel : std::uint8_t {
    cancelled,  // the function will not run; the server answers the call in its turn
    begun,      // the server has claimed the call; asked_to_end of the head has its ticket
    over,       // the call was answered
};

// The client's end. One thread at a time, but for is_answered().
template <template <class> class Atomic = std::atomic>
class RingClient {
public:
    // Of a ring that no client has used.
    explicit RingClient(const RingView<Atomic>& view) noexcept : view_(view) {
        ACP_ASSERT(is_slot_count(view.slot_count));
    }

    // Posts a call. nullopt: all slots hold calls whose answers were not taken.
    [[nodiscard]] std::optional<Posted> post(const CallRequest& request) noexcept {
        if (posted_ - taken_ == view_.slot_count) return std::nullopt;
        const std::uint64_t ticket = posted_++;
        CallSlot<Atomic>& slot = view_.slot_of(ticket);
        // relaxed: the exchange of the state releases these words to the server
        slot.target.store(request.target, std::memory_order_relaxed);
        slot.shape.store(request.shape, std::memory_order_relaxed);
        for (std::uint32_t i = 0; i < request.word_count; ++i)
            slot.words[i].store(request.words[i], std::memory_order_relaxed);
        // seq_cst: releases the words above to the server's claim, and precedes the load of the
        // bell; partner of the latter: Bell::announce()
        slot.state.exchange(CallState::word(ticket, CallPhase::posted), std::memory_order_seq_cst);
        return Posted{ticket, view_.head->server_bell.ring()};
    }

    // Takes the answer of the oldest call whose answer was not taken, which frees its slot.
    // nullopt: the server has not answered it, or there is none.
    [[nodiscard]] std::optional<CallAnswer> take() noexcept {
        if (taken_ == posted_ || !is_answered(taken_)) return std::nullopt;
        CallSlot<Atomic>& slot = view_.slot_of(taken_);
        // relaxed: is_answered() acquired the state, which released these words
        const CallAnswer answer{taken_,
                                static_cast<CallEnd>(slot.target.load(std::memory_order_relaxed)),
                                slot.words[0].load(std::memory_order_relaxed)};
        ++taken_;
        return answer;
    }

    // Whether a call was answered. Any thread of the client.   ticket  of a posted call
    [[nodiscard]] bool is_answered(std::uint64_t ticket) const noexcept {
        // acquire: partner is the exchange in RingServer::answer()
        return CallState::is_answered(view_.slot_of(ticket).state.load(std::memory_order_acquire),
                                      ticket);
    }

    // Whether the server has claimed a call whose answer was not taken, or has answered it. After
    // the server's death: whether the function may have run.
    [[nodiscard]] bool has_begun(std::uint64_t ticket) const noexcept {
        // acquire: as is_answered()
        const std::uint64_t state = view_.slot_of(ticket).state.load(std::memory_order_acquire);
        return state == CallState::word(ticket, CallPhase::claimed) ||
               CallState::is_answered(state, ticket);
    }

    // Cancels a call that the server has not claimed. Cancelling one that is cancelled returns
    // `cancelled` again.   ticket  of a posted call
    Cancel cancel(std::uint64_t ticket) noexcept {
        CallSlot<Atomic>& slot = view_.slot_of(ticket);
        std::uint64_t state = CallState::word(ticket, CallPhase::posted);
        // acquire on failure: as is_answered(). The server reads no word of a cancelled call, but gcc
        // refuses a weaker order on success.
        if (slot.state.compare_exchange_strong(state, CallState::word(ticket, CallPhase::cancelled),
                                               std::memory_order_acquire,
                                               std::memory_order_acquire)) {
            return Cancel::cancelled;
        }
        if (state == CallState::word(ticket, CallPhase::cancelled)) return Cancel::cancelled;
        if (CallState::is_answered(state, ticket)) return Cancel::over;
        // relaxed: only a hint for the function that runs
        view_.head->asked_to_end.store(ticket + 1, std::memory_order_relaxed);
        return Cancel::begun;
    }

    // Calls that were posted and whose answers were not taken.
    [[nodiscard]] std::uint64_t in_flight() const noexcept { return posted_ - taken_; }

    // The ticket of the oldest of them, or of the next call.
    [[nodiscard]] std::uint64_t oldest() const noexcept { return taken_; }

    [[nodiscard]] RingHead<Atomic>& head() const noexcept { return *view_.head; }

private:
    RingView<Atomic> view_;
    std::uint64_t posted_ = 0;  // the next ticket
    std::uint64_t taken_ = 0;   // the ticket of the next answer
};

// The server's end. One thread.
template <template <class> class Atomic = std::atomic>
class RingServer {
public:
    // A call that the server has claimed, and must answer before it claims another one.
    class Claimed {
    public:
        [[nodiscard]] std::uint64_t ticket() const noexcept { return ticket_; }

        // The client has cancelled it: answer() without running it.
        [[nodiscard]] bool is_cancelled() const noexcept { return is_cancelled_; }

        // Fields of the CallRequest. relaxed: the claim acquired the state, which released them.
        [[nodiscard]] std::uint64_t target() const noexcept {
            return slot_->target.load(std::memory_order_relaxed);
        }

        [[nodiscard]] std::uint64_t shape() const noexcept {
            return slot_->shape.load(std::memory_order_relaxed);
        }

        //   i  0 .. slot_words - 1
        [[nodiscard]] std::uint64_t word(std::uint32_t i) const noexcept {
            return slot_->words[i].load(std::memory_order_relaxed);
        }

    private:
        friend class RingServer;

        Claimed(CallSlot<Atomic>& slot, std::uint64_t ticket, bool is_cancelled) noexcept
            : slot_(&slot), ticket_(ticket), is_cancelled_(is_cancelled) {}

        CallSlot<Atomic>* slot_;
        std::uint64_t ticket_;
        bool is_cancelled_;
    };

    explicit RingServer(const RingView<Atomic>& view) noexcept : view_(view) {
        ACP_ASSERT(is_slot_count(view.slot_count));
    }

    // Begins to serve, also where another server has died; call it before next(). Answers the call
    // that the other one had claimed. true: the caller must wake all on the client's bell.
    [[nodiscard]] bool begin() noexcept {
        // acquire: the death of the other server precedes this, and with it its stores
        next_ = view_.head->answered.load(std::memory_order_acquire);
        // relaxed: one server at a time writes it; clients only compare it
        view_.head->epoch.store(view_.head->epoch.load(std::memory_order_relaxed) + 1,
                                std::memory_order_relaxed);
        const std::uint64_t state = view_.slot_of(next_).state.load(std::memory_order_acquire);
        if (CallState::is_answered(state, next_)) count_answer();  // it died before it counted
        if (state != CallState::word(next_, CallPhase::claimed)) return false;
        return answer(Claimed(view_.slot_of(next_), next_, false), CallEnd::ended, 0);
    }

    // Claims the next call. nullopt: the client has not posted it.
    [[nodiscard]] std::optional<Claimed> next() noexcept {
        CallSlot<Atomic>& slot = view_.slot_of(next_);
        const std::uint64_t posted = CallState::word(next_, CallPhase::posted);
        // acquire: partner is the exchange in RingClient::post(), also where cancel() has changed
        // the word since: the stores of answer() then come after those of post()
        std::uint64_t state = slot.state.load(std::memory_order_acquire);
        // acquire, twice: as the load. A failure shows that the client has cancelled the call
        if (state == posted && slot.state.compare_exchange_strong(
                                   state, CallState::word(next_, CallPhase::claimed),
                                   std::memory_order_acquire, std::memory_order_acquire)) {
            return Claimed(slot, next_, false);
        }
        if (state == CallState::word(next_, CallPhase::cancelled))
            return Claimed(slot, next_, true);
        return std::nullopt;
    }

    // Answers a claimed call. true: the caller must wake all on the client's bell.
    //   outcome  of a cancelled call ignored: it is CallEnd::cancelled
    [[nodiscard]] bool answer(const Claimed& claimed,
                              CallEnd outcome,
                              std::uint64_t result) noexcept {
        CallSlot<Atomic>& slot = *claimed.slot_;
        if (claimed.is_cancelled_) outcome = CallEnd::cancelled;
        // relaxed: the exchange of the state releases both to the client
        slot.target.store(static_cast<std::uint64_t>(outcome), std::memory_order_relaxed);
        slot.words[0].store(result, std::memory_order_relaxed);
        // seq_cst: releases what the function and this wrote to is_answered(), and precedes the
        // load of the bell; partner of the latter: Bell::announce()
        slot.state.exchange(CallState::word(claimed.ticket_, CallPhase::answered),
                            std::memory_order_seq_cst);
        count_answer();
        return view_.head->client_bell.ring();
    }

    // Whether the client has asked a claimed call to end early. Any thread of the server.
    [[nodiscard]] bool is_asked_to_end(std::uint64_t ticket) const noexcept {
        // relaxed: only a hint
        return view_.head->asked_to_end.load(std::memory_order_relaxed) == ticket + 1;
    }

    [[nodiscard]] RingHead<Atomic>& head() const noexcept { return *view_.head; }

private:
    void count_answer() noexcept {
        // release: partner is the next server's begin()
        view_.head->answered.store(++next_, std::memory_order_release);
    }

    RingView<Atomic> view_;
    std::uint64_t next_ = 0;  // the ticket of the next call
};

}  // namespace acp::call
