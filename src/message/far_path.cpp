// SPDX-License-Identifier: BSD-3-Clause
// Sending what a ring's end stores.
#include "message/far_path.hpp"

#include <new>

namespace acp::message {

namespace {

// A partner that has not answered for so long is stopped, or starved.
constexpr std::int64_t answer_ns = 50'000'000;

}  // namespace

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

// Headers that are asked for again and the like come on top. A word that is not sent now is sent when somebody looks again, which may be
// never: so it is put off only where the partner takes nothing.
bool FarPath::may_send() noexcept {
    if (!place_.is_overwriting) {
        if (under_way_.size() >= under_way_max) forget_ended();
        return under_way_.size() < under_way_max;
    }
    forget_ended();
    while (!under_way_.empty()) {
        if (is_partner_silent_) return false;
        is_partner_silent_ = !gma_->has_ended(under_way_.front().handle, answer_ns);
        forget_ended();
    }
    is_partner_silent_ = false;
    return true;
}

bool FarPath::is_idle() noexcept {
    forget_ended();
    return under_way_.empty();
}

void FarPath::settle() noexcept {
    while (!under_way_.empty()) end_oldest();
}

}  // namespace acp::message
