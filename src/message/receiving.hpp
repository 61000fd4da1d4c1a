// SPDX-License-Identifier: BSD-3-Clause
// The receiver's end of a channel, once it knows its partner: takes messages out of the ring for
// its requests, in order. Messages without a request stay in the ring. A record leads to memory, so
// its content is checked before it is used.
// Tests: tests/unit/message/receiving_test.cpp, tests/conformance/channel_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "gma/gma.hpp"
#include "local/direct.hpp"
#include "local/shared_memory.hpp"
#include "message/end_work.hpp"
#include "message/lending.hpp"
#include "message/pipe.hpp"
#include "message/ring.hpp"
#include "node/death.hpp"
#include "os/futex.hpp"
#include "sync/bell.hpp"
#include "sync/lines.hpp"

#include "operations/put_signal.hpp"

namespace acp::message {

// What a receiver knows about its sender.
struct SenderPlaces {
    // the sender's word that counts the messages this end has taken
    memory::GlobalAddress taken = 0;
    local::SharedRange heap;  // the sender's heap, if it is on this node
    std::uint32_t slot = 0;   // the sender's slot, if it is on this node
};

template <typename Path>
class Receiving final : public EndWork {
public:
    //   path     to a ring that was opened under the key (ChannelEnd::make); it may hold messages
    //            already
    //   partner  the bell to ring on a node
    Receiving(gma::Gma& gma,
              const Path& path,
              RingShape shape,
              RingKey key,
              const SenderPlaces& sender,
              sync::Bell<>& partner)
        : gma_(gma), ring_(path, shape, key), sender_(sender), partner_(partner) {}

    [[nodiscard]] RingReceiver<Path>& ring() noexcept { return ring_; }

    bool go_on(RequestQueue& queue) noexcept override {
        for (bool has_moved = false; !queue.is_empty(); has_moved = true) {
            if (has_partner_ended_) {
                end_without_message(queue);
            } else if (borrower_.is_busy()) {
                if (!go_on_with_loan(queue)) return has_moved;
            } else if (fetch_ != gma::handle_null) {
                if (!gma_.has_ended(fetch_)) return has_moved;
                end_fetch(queue);
            } else {
                const ReceivedRecord record = ring_.receive();
                if (record.data == nullptr) {
                    wake_if(ring_.tell_due());
                    return has_moved;
                }
                // The sender frees its memory once the release of its last record reaches it. No
                // earlier word may arrive after that.
                if (tag_of(record) == RecordTag::end && !ring_.path().is_idle()) return has_moved;
                if (is_refused_) {
                    refuse(queue);
                } else {
                    take(queue, record);
                }
            }
        }
        return true;
    }

    void recover() noexcept override {
        if (has_partner_ended_) return;        // its ring belongs to the sender now
        if (!ring_.path().may_send()) return;  // the sender has not taken earlier words
        ring_.recover();
        wake_if(ring_.path().ring());  // a sleeping sender has not seen the request of recover()
    }

    [[nodiscard]] bool is_cut_off() noexcept override { return ring_.path().is_cut_off(); }

    [[nodiscard]] bool is_over() const noexcept override { return has_partner_ended_; }

    [[nodiscard]] bool is_idle() noexcept override {
        return !borrower_.is_busy() && (fetch_ == gma::handle_null || gma_.has_ended(fetch_)) &&
               (notice_ == gma::handle_null || gma_.has_ended(notice_)) && ring_.path().is_idle();
    }

    void settle_sent() noexcept override {
        settle_notice();
        ring_.path().settle();
    }

    void settle() noexcept override {
        if (fetch_ != gma::handle_null) (void)gma_.wait_for_one(fetch_);
        if (borrower_.is_busy()) {
            borrower_.close([this] {
                std::this_thread::yield();
                return !node::is_dead(gma_.space().segment(), sender_.slot);
            });
        }
        settle_sent();
    }

private:
    [[nodiscard]] static RecordTag tag_of(const ReceivedRecord& record) noexcept {
        return static_cast<RecordTag>(record.tag);
    }

    void wake_if(bool is_due) noexcept {
        if (is_due) os::futex_wake(partner_.word(), os::everybody);
    }

    // Takes a record for the oldest request, and releases it, unless it is an offer that is being
    // fetched.
    void take(RequestQueue& queue, const ReceivedRecord& record) noexcept {
        ChannelRequest& request = queue.front();
        switch (tag_of(record)) {
            case RecordTag::whole:
                request.length = record.bytes;
                copy_out(request, record);
                break;
            case RecordTag::length:
                if (!read_whole(record, request.length)) return refuse(queue);
                break;
            case RecordTag::piece:
                copy_out(request, record);
                break;
            case RecordTag::slot:
                return take_piece(queue, record);
            case RecordTag::offer:
                return begin_fetch(queue, record);
            case RecordTag::loan:
                return begin_loan(queue, record);
            case RecordTag::end:
                has_partner_ended_ = true;
                wake_if(ring_.release());
                if (!ring_.has_told_all()) wake_if(ring_.tell_released());
                return;
            default:
                return refuse(queue);
        }
        wake_if(ring_.release());
        if (tag_of(record) != RecordTag::length && request.moved >= request.length) finish(queue);
    }

    // The record received last is impossible: words between the ranks were overwritten. It stays,
    // so that every later request fails too, and none takes the rest of a message for a new one.
    // The sender is notified, and its requests fail as well. A request to free skips this record
    // and all that follow, except the last one.
    void refuse(RequestQueue& queue) noexcept {
        if (!std::exchange(is_refused_, true)) wake_if(ring_.refuse());
        if (queue.front().kind == RequestKind::free) {
            has_partner_ended_ = static_cast<RecordTag>(ring_.held().tag) == RecordTag::end;
            wake_if(ring_.release());
            return wake_if(ring_.tell_released());
        }
        queue.end_front({base::Status::worded(
                             base::Code::system,
                             [] {
                                 return std::string(
                                     "a record of the channel is invalid: memory of the library "
                                     "was overwritten, on this rank or on the sender");
                             }),
                         0});
    }

    // How many of the next bytes of the message fit into the buffer.
    [[nodiscard]] static std::uint64_t wanted_of(const ChannelRequest& request,
                                                 std::uint64_t bytes) noexcept {
        return request.moved < request.bytes ? std::min(bytes, request.bytes - request.moved) : 0;
    }

    static void copy_out(ChannelRequest& request, const ReceivedRecord& record) noexcept {
        const std::uint64_t wanted = wanted_of(request, record.bytes);
        if (wanted != 0) std::memcpy(request.buffer + request.moved, record.data, wanted);
        request.moved += record.bytes;
    }

    // The sender may wait for the slot, so the credit is sent at once.
    void take_piece(RequestQueue& queue, const ReceivedRecord& record) noexcept {
        PipePiece piece;
        if (!read_whole(record, piece) || !piece.lies_in(sender_.heap)) [[unlikely]]
            return refuse(queue);
        ChannelRequest& request = queue.front();
        request.length = piece.message_bytes;
        sync::take_lines(request.buffer + request.moved, sender_.heap.at(piece.place),
                         wanted_of(request, piece.bytes), piece.bytes);
        request.moved += piece.bytes;
        wake_if(ring_.release());
        wake_if(ring_.tell_released());
        if (request.moved >= request.length) finish(queue);
    }

    // Reads a record that contains one value. False: it has another length, and nothing was read.
    template <typename Said>
    [[nodiscard]] static bool read_whole(const ReceivedRecord& record, Said& said) noexcept {
        if (record.bytes != sizeof said) return false;
        std::memcpy(&said, record.data, sizeof said);
        return true;
    }

    // The record is released when the loan ends: the words of the loan stay as long as it is there.
    void begin_loan(RequestQueue& queue, const ReceivedRecord& record) noexcept {
        ChannelRequest& request = queue.front();
        LentMessage loan;
        const local::SharedRange node = local::node_memory(gma_.space().segment());
        const bool is_next = read_whole(record, loan) && loan.number == taken_count_ + 1;
        if (!is_next || !loan.lies_in(node)) [[unlikely]]
            return refuse(queue);
        request.length = request.moved = loan.bytes;
        lending_ = reinterpret_cast<LendingWords<>*>(node.at(loan.words));
        const std::uint64_t wanted = std::min(request.bytes, loan.bytes);
        if (wanted == 0) return end_loan(queue);
        borrower_.begin(*lending_, loan.number, node.at(loan.source), request.buffer, wanted);
        if (wanted > LentPieces::bytes_min && node.has(request.buffer, wanted))
            borrower_.open(node.place_of(request.buffer), wanted);
        (void)go_on_with_loan(queue);
    }

    // False: the sender is still copying its last piece.
    bool go_on_with_loan(RequestQueue& queue) noexcept {
        const auto copy = [](char* to, const char* from, std::uint64_t bytes) {
            local::move_bytes(to, from, bytes);
        };
        LoanState state = borrower_.go_on(copy);
        if (state == LoanState::waits) {
            if (!node::is_dead(gma_.space().segment(), sender_.slot)) return false;
            state = borrower_.take_over(copy);
        }
        if (state == LoanState::whole) {
            end_loan(queue);
        } else {
            refuse(queue);
        }
        return true;
    }

    void end_loan(RequestQueue& queue) noexcept {
        const bool is_revoked = Borrower<>::is_revoked(*lending_);
        // release: the buffer is no longer read; partner: Sending::has_ended()
        lending_->taken.store(++taken_count_, std::memory_order_release);
        wake_if(ring_.release());
        wake_if(ring_.tell_released());
        if (!is_revoked || queue.front().kind == RequestKind::free) return finish(queue);
        queue.end_front({base::Status::worded(
                             base::Code::peer,
                             [] { return std::string("the sender has given the message up"); }),
                         0});
    }

    void begin_fetch(RequestQueue& queue, const ReceivedRecord& record) noexcept {
        ChannelRequest& request = queue.front();
        FetchOffer offer;
        if (!read_whole(record, offer)) [[unlikely]]
            return refuse(queue);
        request.length = request.moved = offer.bytes;
        const std::uint64_t wanted = std::min(request.bytes, offer.bytes);
        if (wanted == 0) return end_fetch(queue);
        fetch_ = gma_.issue_pointer(
            {offer.address, {request.buffer, wanted, true}, memory::IssuedBy::fetch},
            gma::handle_null);
    }

    void end_fetch(RequestQueue& queue) noexcept {
        base::Status status;
        if (fetch_ != gma::handle_null) status = gma_.wait_for_one(fetch_);
        fetch_ = gma::handle_null;
        ++taken_count_;
        settle_notice();
        const operations::PutSignal counted{sender_.taken, sender_.taken, taken_count_};
        notice_ = gma_.issue_invoke(
            {static_cast<std::uint32_t>(gma_.space().layout().process(sender_.taken)),
             operations::put_signal_set_number,
             std::as_bytes(std::span(&counted, 1)),
             {},
             nullptr},
            gma::handle_null);
        wake_if(ring_.release());
        if (status.is_ok()) return finish(queue);
        queue.end_front({std::move(status), 0});
    }

    void settle_notice() noexcept {
        if (notice_ != gma::handle_null) (void)gma_.wait_for_one(notice_);
        notice_ = gma::handle_null;
    }

    // The message of the oldest request is complete. A request to free discards it and stays.
    void finish(RequestQueue& queue) noexcept {
        ChannelRequest& request = queue.front();
        if (request.kind == RequestKind::free) {
            request.moved = 0;
            request.length = 0;
            return;
        }
        const std::uint64_t length = request.length;
        const std::uint64_t bytes = request.bytes;
        if (length <= bytes) return queue.end_front({{}, length});
        queue.end_front({truncated("message", length, bytes), bytes});
    }

    void end_without_message(RequestQueue& queue) noexcept {
        if (queue.front().kind == RequestKind::free) return queue.end_front({});
        queue.end_front({base::Status::worded(base::Code::stale,
                                              [] {
                                                  return std::string(
                                                      "the sender has freed the channel, and no "
                                                      "more messages will come");
                                              }),
                         0});
    }

    gma::Gma& gma_;
    RingReceiver<Path> ring_;
    SenderPlaces sender_;
    sync::Bell<>& partner_;
    // the operation in flight that fetches the offer that the ring still holds
    gma::Handle fetch_ = gma::handle_null;
    // the operation in flight that sends the count after the previous fetch
    gma::Handle notice_ = gma::handle_null;
    LendingWords<>* lending_ = nullptr;  // the last loan's
    Borrower<> borrower_;                // copies a loan that the ring still holds
    std::uint64_t taken_count_ = 0;      // offers and loans that were taken
    bool has_partner_ended_ = false;
    bool is_refused_ = false;  // refuse() was called
};

}  // namespace acp::message
