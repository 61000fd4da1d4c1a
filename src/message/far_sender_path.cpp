// SPDX-License-Identifier: BSD-3-Clause
// Issues the stores of a ring's sender.
#include "message/far_sender_path.hpp"

#include <cstring>
#include <new>
#include <utility>

namespace acp::message {

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): room_ is read as far as it was written
FarSenderPath::FarSenderPath(gma::Gma& gma, const RingPlace& place) : gma_(&gma), place_(place) {
    if (!gma_->prepare_invokes()) throw std::bad_alloc();
}

void FarSenderPath::open_mirror() noexcept {
    if (place_.mirror == nullptr) return;
    if (!gma_->prepare_followed()) return;
    mirror_ = place_.mirror->take(1, place_.shape.record_bytes()).data;
}

bool FarSenderPath::publish(std::uint64_t offset, std::uint64_t value) noexcept {
    if (begun_ - ended_ == handles_max) end_oldest();
    handle_at(begun_++) = send(offset, value);
    return false;
}

gma::Handle FarSenderPath::send(std::uint64_t offset, std::uint64_t value) noexcept {
    const std::span payload = std::exchange(placed_, {});
    const bool is_argument = payload.size() <= argument_bytes_max;
    const bool is_alone = payload.empty() || !is_argument;
    const operations::PutSignal head{place_.there + (is_alone ? offset : placed_at_),
                                     place_.there + offset, value};
    gma::Invocation call;
    call.process = place_.process;
    call.operation = operations::put_signal_set_number;
    call.arguments = std::as_bytes(std::span(&head, 1));
    if (is_argument) {
        call.tail = {payload};
        return gma_->issue_invoke(call, gma::handle_null);
    }
    std::memcpy(mirror_ + placed_at_, payload.data(), payload.size());
    return gma_->issue_followed({.target = place_.there + placed_at_,
                                 .source = place_.mirror->address() + placed_at_,
                                 .bytes = payload.size(),
                                 .expected = memory::Command::note(memory::IssuedBy::move)},
                                call, gma::Departure::now);
}

// Waits for the oldest operation in flight.
void FarSenderPath::end_oldest() noexcept {
    const base::Status status = gma_->wait_for_one(handle_at(ended_++));
    is_cut_off_ = is_cut_off_ || status.code() == base::Code::peer;
}

void FarSenderPath::forget_ended() noexcept {
    while (begun_ != ended_ && gma_->has_ended(handle_at(ended_))) end_oldest();
}

bool FarSenderPath::is_cut_off() noexcept {
    forget_ended();
    return is_cut_off_;
}

// under_way_max leaves room for words besides records, such as headers that were requested again.
bool FarSenderPath::may_send() noexcept {
    if (begun_ - ended_ >= under_way_max) forget_ended();
    return begun_ - ended_ < under_way_max;
}

bool FarSenderPath::is_idle() noexcept {
    forget_ended();
    return begun_ == ended_;
}

void FarSenderPath::settle() noexcept {
    while (begun_ != ended_) end_oldest();
}

}  // namespace acp::message
