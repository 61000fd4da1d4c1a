// SPDX-License-Identifier: BSD-3-Clause
// Sending what a ring's end stores.
#include "message/far_path.hpp"

#include <new>

namespace acp::message {

bool FarPath::publish(std::uint64_t offset, std::uint64_t value) noexcept {
    message_.head = {place_.there + placed_at_, place_.there + offset, value};
    const std::size_t bytes = sizeof message_.head + placed_bytes_;
    placed_bytes_ = 0;
    if (under_way_.size() >= under_way_max) {
        (void)gma_->wait_for_one(under_way_.front());
        under_way_.pop_front();
    }
    try {
        under_way_.push_back(gma::handle_null);
        under_way_.back() = gma_->issue_invoke({place_.process,
                                                operations::put_notify_number,
                                                std::as_bytes(std::span(&message_, 1)).first(bytes),
                                                {},
                                                nullptr},
                                               gma::handle_null);
    } catch (const std::bad_alloc&) {
        // As if it were lost on its way: the other end asks for it.
    }
    return false;
}

void FarPath::settle() noexcept {
    for (const gma::Handle handle : under_way_) {
        if (handle != gma::handle_null) (void)gma_->wait_for_one(handle);
    }
    under_way_.clear();
}

}  // namespace acp::message
