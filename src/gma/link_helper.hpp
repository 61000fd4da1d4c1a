// SPDX-License-Identifier: BSD-3-Clause
// Who waits in a meeting while the gateway of the node is in this process turns it: through global memory access
// while that is open, for then its service thread turns it too, and by itself in between, when nobody else is there.
// One thread: the one that makes the collective calls.
// Tests: tests/unit/gma/gma_remote_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "gma/gma.hpp"
#include "node/barrier.hpp"
#include "os/poll_set.hpp"
#include "remote/link.hpp"

namespace acp::gma {

class LinkHelper final : public node::Helper {
public:
    //   link  with wait_fd() >= 0; must outlive this
    explicit LinkHelper(remote::Link& link) noexcept : link_(link) {}

    // From when it is open until before it is closed; nullptr: nobody else turns the link.
    void set_gma(Gma* gma) noexcept { gma_ = gma; }

    bool turn() override {
        if (gma_ != nullptr) {
            return gma_->help();
        }
        ended_.clear();  // nothing is outstanding: what comes is not ours
        return link_.turn(ended_);
    }

    bool sleep(const std::function<bool()>& is_idle, std::int64_t timeout_ns) override {
        if (gma_ != nullptr) {
            return false;
        }
        if (is_idle()) {
            const std::int64_t due_ns = link_.timeout_ns();
            const bool is_due_first = due_ns >= 0 && (timeout_ns < 0 || due_ns < timeout_ns);
            (void)os::wait_readable(link_.wait_fd(), -1, is_due_first ? due_ns : timeout_ns);
        }
        return true;
    }

private:
    remote::Link& link_;
    Gma* gma_ = nullptr;
    std::vector<remote::Ended> ended_;
};

}  // namespace acp::gma
