// SPDX-License-Identifier: BSD-3-Clause
// What a process tells members of broken teams: operations that nobody waits for, since one that does not answer would hold up the call that
// has failed. Their own failures concern nobody, and are taken here. One for each epoch. Any thread.
// Tests: tests/team/cut_test.cpp.
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
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

    // Begins an operation. Throws std::bad_alloc, and has begun nothing then.
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
    using Handles = std::vector<gma::Handle>;

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
};

}  // namespace acp::team
