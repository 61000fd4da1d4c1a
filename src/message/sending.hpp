// SPDX-License-Identifier: BSD-3-Clause
// The sender's end of a channel, once it knows its partner. A message that fits is one record. A
// longer one is sent in pieces, which the receiver takes while the sender adds more: through the
// pipe (pipe.hpp) if both are on one node and the heap has room for one, else through the ring. On
// a node, a message that is longer than the pipe, in memory that the receiver has mapped, becomes a
// loan (lending.hpp). A long message to another node is offered, and the receiver fetches it. The
// receiver counts loans and offers that it has taken in a word of the sender. Messages are put into
// the ring in order, also while older loans and offers are being taken.
// Tests: tests/conformance/channel_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <variant>

#include "base/fence.hpp"
#include "gma/gma.hpp"
#include "local/direct.hpp"
#include "local/shared_memory.hpp"
#include "message/end_work.hpp"
#include "message/lending.hpp"
#include "message/pipe.hpp"
#include "message/pipe_block.hpp"
#include "message/ring.hpp"
#include "os/futex.hpp"
#include "sync/bell.hpp"

namespace acp::message {

// When a message takes which way.
struct SendingRule {
    std::uint64_t offer_bytes = ~std::uint64_t{0};  // longer messages are offered
    std::uint64_t slot_bytes = 0;                   // size of a pipe's slot
    std::uint64_t lend_bytes = 0;                   // longer messages become loans, where possible
    PipeBlock* pipe = nullptr;                      // allocates a pipe's slots; nullptr: no pipe
    LendingWords<>* lending = nullptr;  // the words of this end's loans; nullptr: no loans
    local::SharedRange node;            // local::node_memory
};

template <typename Path>
class Sending final : public EndWork {
public:
    //   taken    where the receiver counts the offers and loans that it has taken
    //   partner  the bell to ring on a node
    Sending(gma::Gma& gma,
            const Path& path,
            RingShape shape,
            RingKey key,
            SendingRule rule,
            std::atomic<std::uint64_t>& taken,
            sync::Bell<>& partner)
        : gma_(gma), ring_(path, shape, key), rule_(rule), taken_(taken), partner_(partner) {}

    [[nodiscard]] RingSender<Path>& ring() noexcept { return ring_; }

    bool go_on(RequestQueue& queue) noexcept override {
        ring_.serve();
        has_moved_ = false;
        if (ring_.is_refused()) [[unlikely]]
            fail_all(queue);
        while (begun_ < queue.size() && begin(queue.at(begun_))) ++begun_;
        if (begun_ > 0) help(queue.front());
        while (!queue.is_empty() && begun_ > 0 && has_ended(queue.front())) {
            queue.end_front({});
            --begun_;
            has_moved_ = true;
        }
        return has_moved_;
    }

    void recover() noexcept override {
        ring_.serve();
        ring_.path().probe();
    }

    [[nodiscard]] bool is_cut_off() noexcept override { return ring_.path().is_cut_off(); }

    [[nodiscard]] bool is_over() const noexcept override { return is_over_; }

    [[nodiscard]] bool is_idle() noexcept override { return ring_.path().is_idle(); }

    void settle_sent() noexcept override { ring_.path().settle(); }

    void settle() noexcept override {
        // acquire: as in has_ended()
        if (rule_.lending != nullptr && offered_ > taken_.load(std::memory_order_acquire))
            Lender<>::revoke(*rule_.lending);
        settle_sent();
    }

private:
    // Puts the rest of a request into the ring. False: the ring is full.
    bool begin(ChannelRequest& request) noexcept {
        if (request.kind == RequestKind::free) return put(nullptr, 0, RecordTag::end);
        if (rule_.lending != nullptr && request.length == 0 && request.moved == 0 &&
            request.bytes > rule_.lend_bytes && rule_.node.has(request.buffer, request.bytes)) {
            return lend(request);
        }
        if (request.bytes > rule_.offer_bytes && request.length == 0) {
            const Offering offering = offer(request);
            if (offering != Offering::impossible) return offering == Offering::done;
        }
        if (request.length == 0 && request.bytes <= record_bytes_max(request.bytes))
            return put(request.buffer, request.bytes, RecordTag::whole);
        if (request.length == 0 && can_use_pipe()) return put_into_pipe(request);
        return put_into_ring(request);  // also a message that has begun in the ring
    }

    // The most bytes of one record, for a message of this length.
    [[nodiscard]] std::uint64_t record_bytes_max(std::uint64_t bytes) noexcept {
        return std::min(ring_.payload_bytes_max(), ring_.path().payload_bytes_max(bytes));
    }

    // If the heap has no room for a pipe, the next message tries again.
    [[nodiscard]] bool can_use_pipe() noexcept {
        if (!pipe_.is_open() && rule_.pipe != nullptr)
            pipe_.open(rule_.pipe->take(PipeSender<Path>::slots, rule_.slot_bytes));
        return pipe_.is_open();
    }

    [[nodiscard]] bool put_into_pipe(ChannelRequest& request) noexcept {
        const std::uint64_t piece_bytes = pipe_.piece_bytes(request.bytes);
        while (request.moved < request.bytes) {
            const std::uint64_t bytes = std::min(request.bytes - request.moved, piece_bytes);
            char* const slot = pipe_.reserve();
            if (slot == nullptr) return false;
            local::move_bytes(slot, request.buffer + request.moved, bytes);
            if (pipe_.commit(bytes, request.bytes, static_cast<std::uint8_t>(RecordTag::slot)))
                os::futex_wake(partner_.word(), os::everybody);
            request.moved += bytes;
            has_moved_ = true;
        }
        return true;
    }

    [[nodiscard]] bool put_into_ring(ChannelRequest& request) noexcept {
        if (request.length == 0) {
            if (!put(&request.bytes, sizeof request.bytes, RecordTag::length)) return false;
            request.length = request.bytes;
        }
        while (request.moved < request.bytes) {
            const std::uint64_t bytes =
                std::min(request.bytes - request.moved, record_bytes_max(request.bytes));
            if (!put(request.buffer + request.moved, bytes, RecordTag::piece)) return false;
            request.moved += bytes;
        }
        return true;
    }

    enum class Offering : std::uint8_t { done, ring_full, impossible };

    // impossible: the buffer cannot be registered, so the message is sent in pieces.
    Offering offer(ChannelRequest& request) noexcept {
        if (request.lent.number == 0) {
            try {
                auto lent = gma_.registrations().begin({request.buffer, request.bytes, false});
                if (!lent.is_ok()) return Offering::impossible;
                request.lent = lent.value();
            } catch (const std::exception&) {  // no memory, or no thread
                return Offering::impossible;
            }
        }
        const FetchOffer offer{request.lent.address, request.bytes};
        if (!put(&offer, sizeof offer, RecordTag::offer)) return Offering::ring_full;
        request.offer = ++offered_;
        return Offering::done;
    }

    // Makes a message a loan. False: the ring is full.
    bool lend(ChannelRequest& request) noexcept {
        const LentMessage loan{rule_.node.place_of(rule_.lending), offered_ + 1,
                               rule_.node.place_of(request.buffer), request.bytes};
        if (!put(&loan, sizeof loan, RecordTag::loan)) return false;
        request.offer = ++offered_;
        return true;
    }

    // Copies pieces of a loan that the receiver is copying too.
    void help(const ChannelRequest& request) noexcept {
        if (rule_.lending == nullptr || request.offer == 0) return;
        const auto may_copy = [this](std::uint64_t place, std::uint64_t bytes) {
            return rule_.node.has_place(place, bytes);
        };
        const auto copy = [this](std::uint64_t place, const char* from, std::uint64_t bytes) {
            local::move_bytes(rule_.node.at(place), from, bytes);
        };
        if (!lender_.help(*rule_.lending, request.offer, {request.buffer, request.bytes}, may_copy,
                          copy)) {
            return;
        }
        has_moved_ = true;
        // Orders the pieces before the check of the bell: the receiver's last poll sees them, or
        // its announcement is seen here; partner: Bell::announce()
        base::fence(std::memory_order_seq_cst);
        if (ring_.path().ring()) os::futex_wake(partner_.word(), os::everybody);
    }

    // Whether a request has ended whose records are all in the ring.
    [[nodiscard]] bool has_ended(ChannelRequest& request) noexcept {
        if (request.kind == RequestKind::free) {
            is_over_ = ring_.is_released(ring_.next());
            return is_over_;
        }
        // acquire: the receiver no longer reads the buffer; partners: operations::PutSignal,
        // Receiving::end_loan
        if (request.offer > taken_.load(std::memory_order_acquire)) return false;
        if (request.lent.number != 0) gma_.registrations().keep(request.lent.number);
        return true;
    }

    // The receiver has refused a record and takes no more messages. It has ended all copies from
    // this end's buffers.
    void fail_all(RequestQueue& queue) noexcept {
        while (!queue.is_empty() && queue.front().kind != RequestKind::free) {
            if (queue.front().lent.number != 0)
                gma_.registrations().keep(queue.front().lent.number);
            queue.end_front(
                {base::Status::worded(
                     base::Code::system,
                     [] {
                         return std::string(
                             "the receiver has found an invalid record of the channel: "
                             "memory of the library was overwritten, on this rank or on "
                             "the receiver");
                     }),
                 0});
            if (begun_ > 0) --begun_;
            has_moved_ = true;
        }
    }

    bool put(const void* source, std::uint64_t bytes, RecordTag tag) noexcept {
        if (!ring_.path().may_send()) return false;
        const SendAttempt outcome = ring_.send(source, bytes, static_cast<std::uint8_t>(tag));
        if (outcome == SendAttempt::sent_to_sleeper) os::futex_wake(partner_.word(), os::everybody);
        if (outcome == SendAttempt::full) return false;
        has_moved_ = true;
        return true;
    }

    gma::Gma& gma_;
    RingSender<Path> ring_;
    PipeSender<Path> pipe_{ring_};
    Lender<> lender_;
    SendingRule rule_;
    std::atomic<std::uint64_t>& taken_;
    sync::Bell<>& partner_;
    std::size_t begun_ = 0;      // how many requests, from the queue's front, are in the ring
    std::uint64_t offered_ = 0;  // messages that became offers or loans
    bool has_moved_ = false;     // since go_on() began
    bool is_over_ = false;
};

}  // namespace acp::message
