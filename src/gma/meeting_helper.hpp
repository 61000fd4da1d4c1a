// SPDX-License-Identifier: BSD-3-Clause
// The work of a thread while it waits for all ranks. It makes progress on its process's operations
// in flight (gma/under_way.hpp). In a job with one rank on each node, where the rank carries its
// own commands (ADR 0004), it also polls the link: while the only thread of the process waits, no
// other one would send or receive. One thread: the one that makes the collective calls.
// Tests: tests/unit/gma/gma_remote_test.cpp, tests/conformance/wait_order_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "gma/gma.hpp"
#include "node/barrier.hpp"
#include "os/cancellation.hpp"

namespace acp::gma {

class MeetingHelper final : public node::Helper {
public:
    // From when it is open until before it is closed; nullptr, as at first: there is nothing to do.
    //   is_link_polled_here  as LinkTraits says
    void set_gma(Gma* gma, bool is_link_polled_here = false) noexcept {
        gma_ = gma;
        is_link_polled_here_ = is_link_polled_here;
    }

    void enter() override {
        nap_ns_ = first_nap_ns;
        if (is_link_polled_here_)
            stay_.emplace(gma_->service_sleep(), ServiceSleep::Stay::Kind::wait);
    }

    bool poll() override {
        if (gma_ == nullptr) return false;
        if (!gma_->under_way().is_empty()) {
            const os::CancellationHold cancellation;  // steps make system calls
            gma_->under_way().go_on(std::exchange(has_rested_, false));
        }
        return is_link_polled_here_ && gma_->help();
    }

    // No other thread wakes this one for operations in flight, so it naps and polls; the naps grow
    // longer, so that it uses little of the CPU.
    std::int64_t rest() override {
        if (stay_) stay_->rest();
        if (gma_ == nullptr || gma_->under_way().is_empty()) return node::for_ever;
        has_rested_ = true;
        nap_ns_ = std::min(nap_ns_ + nap_ns_ / 4, last_nap_ns);
        return nap_ns_;
    }

    void leave() override { stay_.reset(); }

private:
    static constexpr std::int64_t first_nap_ns = 100'000;
    static constexpr std::int64_t last_nap_ns = 5'000'000;

    Gma* gma_ = nullptr;
    bool is_link_polled_here_ = false;
    std::int64_t nap_ns_ = first_nap_ns;
    bool has_rested_ = false;
    std::optional<ServiceSleep::Stay> stay_;
};

}  // namespace acp::gma
