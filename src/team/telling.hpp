// SPDX-License-Identifier: BSD-3-Clause
// Sends failure notifications to members of broken teams and plans. They are operations that no
// call waits for, since a member that does not answer would hold up the failed call. Their own
// failures are discarded. TellingRoom reserves the memory for them beforehand, because the most
// frequent failure is a lack of memory. One object per epoch. Any thread.
// Tests: tests/team/cut_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <new>
#include <vector>

#include "gma/gma.hpp"

namespace acp::team {

class Telling {
public:
    //   gma  outlives this
    explicit Telling(gma::Gma& gma) noexcept : gma_(gma) {}

    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;
    ~Telling() = default;

    // Issues a notification. Allocates no memory while at most as many are in flight as all
    // TellingRooms have reserved; else it may throw std::bad_alloc, and then issues nothing.
    void tell(const gma::Invocation& call) {
        const std::scoped_lock lock(mutex_);
        const auto has_ended = [this](gma::Handle handle) { return gma_.has_ended(handle); };
        const auto ended =
            std::partition(under_way_.begin(), under_way_.end(), std::not_fn(has_ended));
        take(ended, under_way_.end());
        under_way_.push_back(gma::handle_null);
        under_way_.back() = gma_.issue_invoke(call, gma::handle_null);
    }

    // Waits for all notifications in flight.
    void settle() noexcept {
        const std::scoped_lock lock(mutex_);
        take(under_way_.begin(), under_way_.end());
    }

private:
    friend class TellingRoom;
    using Handles = std::vector<gma::Handle>;

    void make_room(std::size_t count) {
        if (count == 0) return;
        if (!gma_.prepare_invokes()) throw std::bad_alloc();
        const std::scoped_lock lock(mutex_);
        under_way_.reserve(expected_ + count);
        expected_ += count;
    }

    void give_room_back(std::size_t count) noexcept {
        const std::scoped_lock lock(mutex_);
        expected_ -= count;
    }

    // Waits for the notifications in a range that ends with the last one, and removes them.
    void take(Handles::iterator first, Handles::iterator last) noexcept {
        for (auto each = first; each != last; ++each) {
            if (*each != gma::handle_null) (void)gma_.wait_for_one(*each);
        }
        under_way_.erase(first, last);
    }

    gma::Gma& gma_;
    std::mutex mutex_;
    Handles under_way_;
    std::size_t expected_ = 0;  // reserved by all TellingRooms
};

// Reserves room for `count` notifications in flight at once, while it lives.
class TellingRoom {
public:
    // Throws std::bad_alloc.
    //   telling  must outlive this
    TellingRoom(Telling& telling, std::size_t count) : telling_(telling), count_(count) {
        telling_.make_room(count);
    }

    TellingRoom(const TellingRoom&) = delete;
    TellingRoom& operator=(const TellingRoom&) = delete;

    ~TellingRoom() { telling_.give_room_back(count_); }

private:
    Telling& telling_;
    std::size_t count_;
};

}  // namespace acp::team
