// SPDX-License-Identifier: BSD-3-Clause
// Lets a thread that waits in a barrier make progress on global memory access. In a job with one rank on each node the rank
// carries its own commands (ADR 0004): while its only thread sits in a barrier, nobody else would send or receive. So the
// barrier calls help() between two looks at its own condition, as long as global memory access is open.
// One thread: the one that makes the collective calls.
// Tests: tests/unit/gma/gma_remote_test.cpp.
#pragma once

#include <optional>

#include "gma/gma.hpp"
#include "node/barrier.hpp"

namespace acp::gma {

class LinkHelper final : public node::Helper {
public:
    // From when it is open until before it is closed; nullptr, as at first: there is nothing to poll.
    void set_gma(Gma* gma) noexcept { gma_ = gma; }

    void enter() override {
        if (gma_ != nullptr) {
            stay_.emplace(gma_->service_sleep(), ServiceSleep::Stay::Kind::wait);
        }
    }

    bool poll() override { return gma_ != nullptr && gma_->help(); }

    void rest() override {
        if (stay_) stay_->rest();
    }

    void leave() override { stay_.reset(); }

private:
    Gma* gma_ = nullptr;
    std::optional<ServiceSleep::Stay> stay_;
};

}  // namespace acp::gma
