// SPDX-License-Identifier: BSD-3-Clause
// The requests of one end that have not ended, in the order in which they were made; they end in
// the same order. For the holder of the end's lock.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "message/request.hpp"

namespace acp::message {

class RequestQueue {
public:
    [[nodiscard]] bool is_empty() const noexcept { return requests_.empty(); }

    [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }

    // Throws std::bad_alloc.
    void add(ChannelRequest& request) { requests_.push_back(&request); }

    [[nodiscard]] ChannelRequest& at(std::size_t index) const noexcept { return *requests_[index]; }

    [[nodiscard]] ChannelRequest& front() const noexcept { return *requests_.front(); }

    // Ends the oldest request.
    void end_front(RequestEnd end) noexcept {
        ChannelRequest& request = *requests_.front();
        requests_.pop_front();
        request.result = std::move(end);
        // release: publishes the result and the buffer's bytes; partner:
        // Channels::RequestCondition::is_done()
        request.is_done.store(true, std::memory_order_release);
    }

private:
    std::deque<ChannelRequest*> requests_;
};

}  // namespace acp::message
