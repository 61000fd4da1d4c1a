// SPDX-License-Identifier: BSD-3-Clause
// Sending what a ring's sender stores.
#include "message/far_sender_path.hpp"

#include <new>

namespace acp::message {

bool FarSenderPath::publish(std::uint64_t offset, std::uint64_t value) noexcept {
    message_.head = {place_.there + (placed_bytes_ != 0 ? placed_at_ : offset),
                     place_.there + offset, value};
    const std::size_t bytes = sizeof message_.head + placed_bytes_;
    placed_bytes_ = 0;
    if (under_way_.size() >= 2 * under_way_max) end_oldest();
    try {
        under_way_.push_back(gma::handle_null);
        under_way_.back() = gma_->issue_invoke({place_.process,
                                                operations::put_signal_set_number,
                                                std::as_bytes(std::span(&message_, 1)).first(bytes),
                                                {},
                                                nullptr},
                                               gma::handle_null);
    } catch (const std::bad_alloc&) {
        // As if it were lost on its way: the other end asks for it.
    }
    return false;
}

// Waits for it.
void FarSenderPath::end_oldest() noexcept {
    const gma::Handle handle = under_way_.front();
    under_way_.pop_front();
    if (handle == gma::handle_null) return;
    const base::Status status = gma_->wait_for_one(handle);
    is_cut_off_ = is_cut_off_ || status.code() == base::Code::peer;
}

void FarSenderPath::forget_ended() noexcept {
    while (!under_way_.empty() &&
           (under_way_.front() == gma::handle_null || gma_->has_ended(under_way_.front()))) {
        end_oldest();
    }
}

bool FarSenderPath::is_cut_off() noexcept {
    forget_ended();
    return is_cut_off_;
}

// Headers that are asked for again and the like come on top.
bool FarSenderPath::may_send() noexcept {
    if (under_way_.size() >= under_way_max) forget_ended();
    return under_way_.size() < under_way_max;
}

bool FarSenderPath::is_idle() noexcept {
    forget_ended();
    return under_way_.empty();
}

void FarSenderPath::settle() noexcept {
    while (!under_way_.empty()) end_oldest();
}

}  // namespace acp::message
