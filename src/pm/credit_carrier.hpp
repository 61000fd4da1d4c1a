// SPDX-License-Identifier: BSD-3-Clause
// Brings the credits and requests of one ring to its sender on another node, one word at a time, so that a later one is not overtaken by an
// earlier one; of several that wait the last one goes. Waits for nobody. For the receiver's thread. Tests: tests/conformance/pm_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "gma/gma.hpp"

#include "operations/put_signal.hpp"
#include "pm/inlet_path.hpp"
#include "pm/pool_layout.hpp"

namespace acp::pm {

class CreditCarrier final : public WordCarrier {
public:
    //   gma  outlives this
    explicit CreditCarrier(gma::Gma& gma) noexcept : gma_(gma) {}

    ~CreditCarrier() override { settle(); }

    CreditCarrier(const CreditCarrier&) = delete;
    CreditCarrier& operator=(const CreditCarrier&) = delete;

    //   cell  of the sender: where the ring's credits lie there
    void begin(std::uint32_t process, std::uint64_t cell) noexcept {
        process_ = process;
        cell_ = cell;
        waiting_ = {};
    }

    // Of the two credits one goes: what comes by datagrams comes whole or not at all.
    void carry(std::uint64_t offset, std::uint64_t word) noexcept override {
        if (offset == ring_shape.credit_offset(0)) return;
        waiting_[offset == ring_shape.request_offset() ? 1 : 0] = {offset, word};
        carry_on();
    }

    // Whether a word has not yet been sent.
    [[nodiscard]] bool has_waiting() const noexcept {
        return waiting_[0].offset != 0 || waiting_[1].offset != 0;
    }

    void carry_on() noexcept {
        for (Waiting& waiting : waiting_) {
            if (waiting.offset == 0 || !is_idle()) continue;
            send(std::exchange(waiting, {}));
        }
    }

    void settle() noexcept {
        if (handle_ != gma::handle_null) (void)gma_.wait_for_one(handle_);
        handle_ = gma::handle_null;
    }

private:
    struct Waiting {
        std::uint64_t offset = 0;  // 0: nothing waits
        std::uint64_t word = 0;
    };

    // A failure is that of a lost node, which its lease's end tells.
    [[nodiscard]] bool is_idle() noexcept {
        if (handle_ == gma::handle_null) return true;
        if (!gma_.has_ended(handle_)) return false;
        settle();
        return true;
    }

    void send(const Waiting& what) noexcept {
        const std::uint64_t place = cell_ + (what.offset - credits_in_ring);
        const operations::PutSignal put{place, place, what.word};
        handle_ = gma_.issue_invoke({process_,
                                     operations::put_signal_set_number,
                                     std::as_bytes(std::span(&put, 1)),
                                     {},
                                     nullptr},
                                    gma::handle_null);
    }

    gma::Gma& gma_;
    std::uint32_t process_ = 0;
    std::uint64_t cell_ = 0;
    std::array<Waiting, 2> waiting_;
    gma::Handle handle_ = gma::handle_null;
};

}  // namespace acp::pm
