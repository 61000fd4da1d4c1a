// SPDX-License-Identifier: BSD-3-Clause
// Who waits in a meeting while commands between nodes are carried by this process turns global memory access, while
// that is open. One thread: the one that makes the collective calls.
// Tests: tests/unit/gma/gma_remote_test.cpp.
#pragma once

#include <optional>

#include "gma/gma.hpp"
#include "node/barrier.hpp"

namespace acp::gma {

class LinkHelper final : public node::Helper {
public:
    // From when it is open until before it is closed; nullptr, as at first: there is nothing to turn.
    void set_gma(Gma* gma) noexcept { gma_ = gma; }

    void enter() override {
        if (gma_ != nullptr) {
            stay_.emplace(gma_->service_sleep(), ServiceSleep::Stay::Kind::wait);
        }
    }

    bool turn() override { return gma_ != nullptr && gma_->help(); }

    void rest() override {
        if (stay_) stay_->rest();
    }

    void leave() override { stay_.reset(); }

private:
    Gma* gma_ = nullptr;
    std::optional<ServiceSleep::Stay> stay_;
};

}  // namespace acp::gma
