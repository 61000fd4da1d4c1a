// SPDX-License-Identifier: BSD-3-Clause
// What a process tells members of broken teams: operations that nobody waits for, since one that does not answer would hold up the call that
// has failed. Their own failures concern nobody, and are taken here. The memory for them is taken beforehand, by TellingRoom: what most often
// is to be told is that there is no memory left. One for each epoch. Any thread.
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

    // Begins an operation. Takes no memory while no more are under way than all TellingRooms are for; else throws std::bad_alloc, and has begun
    // nothing then.
    void tell(const gma::Invocation& call) {
        const std::scoped_lock lock(mutex_);
        const auto has_ended = [this](gma::Handle handle) { return gma_.has_ended(handle); };
        const auto ended =
            std::partition(under_way_.begin(), under_way_.end(), std::not_fn(has_ended));
        take(ended, under_way_.end());
        under_way_.push_back(gma::handle_null);
        under_way_.back() = gma_.issue_invoke(call, gma::handle_null);
    }

    // Waits for all of them.
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

    // Takes what is left of some, to the last one.
    void take(Handles::iterator first, Handles::iterator last) noexcept {
        for (auto each = first; each != last; ++each) {
            if (*each != gma::handle_null) (void)gma_.wait_for_one(*each);
        }
        under_way_.erase(first, last);
    }

    gma::Gma& gma_;
    std::mutex mutex_;
    Handles under_way_;
    std::size_t expected_ = 0;  // by all TellingRooms
};

// That somebody may have so many to tell at once, as long as this lives.
class TellingRoom {
public:
    //   telling  outlives this.   Throws std::bad_alloc.
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
