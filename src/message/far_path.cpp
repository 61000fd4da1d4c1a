// SPDX-License-Identifier: BSD-3-Clause
// Sending what a ring's end stores.
#include "message/far_path.hpp"

#include <new>

namespace acp::message {

bool FarPath::publish(std::uint64_t offset, std::uint64_t value) noexcept {
    message_.head = {place_.there + (placed_bytes_ != 0 ? placed_at_ : offset),
                     place_.there + offset, value};
    const std::size_t bytes = sizeof message_.head + placed_bytes_;
    placed_bytes_ = 0;
    // Operations may overtake each other, and an older word must not replace a newer one.
    if (place_.is_overwriting) {
        while (is_under_way(offset)) end_oldest();
    }
    if (under_way_.size() >= 2 * under_way_max) end_oldest();
    try {
        under_way_.push_back({gma::handle_null, offset});
        under_way_.back().handle =
            gma_->issue_invoke({place_.process,
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
void FarPath::end_oldest() noexcept {
    const gma::Handle handle = under_way_.front().handle;
    under_way_.pop_front();
    if (handle == gma::handle_null) return;
    const base::Status status = gma_->wait_for_one(handle);
    is_cut_off_ = is_cut_off_ || status.code() == base::Code::peer;
}

void FarPath::forget_ended() noexcept {
    while (!under_way_.empty() && (under_way_.front().handle == gma::handle_null ||
                                   gma_->has_ended(under_way_.front().handle))) {
        end_oldest();
    }
}

bool FarPath::is_cut_off() noexcept {
    forget_ended();
    return is_cut_off_;
}

// Headers that are asked for again and the like come on top.
bool FarPath::may_send() noexcept {
    const std::size_t most = place_.is_overwriting ? 1 : under_way_max;
    if (under_way_.size() >= most) forget_ended();
    return under_way_.size() < most;
}

bool FarPath::is_idle() noexcept {
    forget_ended();
    return under_way_.empty();
}

void FarPath::settle() noexcept {
    while (!under_way_.empty()) end_oldest();
}

}  // namespace acp::message
