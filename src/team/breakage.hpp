// SPDX-License-Identifier: BSD-3-Clause
// Why what several processes do together (a team, a plan) goes on no more, as one of them knows it. It finds a reason itself, or sees that
// another process is gone, or is told a reason by another one, which writes that into the Trouble of its block; and it tells the others
// likewise. The first reason stays. Whom to tell, and of what, is the caller's business. For the one thread that is in a call on the team or
// plan. Tests: tests/conformance/team_test.cpp, tests/conformance/exchange_test.cpp, tests/team, tests/exchange.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "gma/gma.hpp"
#include "team/telling.hpp"
#include "team/trouble.hpp"

namespace acp::team {

// The Trouble of one that is told.
struct TroubleTarget {
    std::uint32_t process = 0;
    Trouble* near = nullptr;  // where that is on this node; its owner must be rung afterwards
    memory::GlobalAddress trouble = 0;  // where it is elsewhere
};

class Breakage {
public:
    enum class News : std::uint8_t { none, death, told };

    //   both outlive this
    Breakage(gma::Gma& gma, Telling& telling) noexcept : gma_(gma), telling_(telling) {}

    Breakage(const Breakage&) = delete;
    Breakage& operator=(const Breakage&) = delete;
    ~Breakage() = default;

    [[nodiscard]] bool is_broken() const noexcept { return code_ != base::Code::ok; }

    // The reason, once it is broken.
    [[nodiscard]] base::Status failure() const;

    // Only the first reason counts.   why  kept without words where there is no memory for them
    void note(base::Code code, std::string_view why) noexcept;

    // Looks for a reason, while none is known, and notes it.
    //   processes  of all that take part; the caller may be among them
    //   own        the caller's Trouble; nullptr: nobody tells it anything
    News look(std::span<const std::uint32_t> processes, const Trouble* own) noexcept {
        // acquire: who has died; partner: node::mark_dead, node::count_loss
        const std::uint32_t deaths =
            gma_.space().segment().control().deaths.load(std::memory_order_acquire);
        if (deaths != deaths_seen_) [[unlikely]] {
            deaths_seen_ = deaths;
            if (note_the_gone(processes)) return News::death;
        }
        // acquire: the text; partner: Trouble::tell, operations::put_signal_set
        if (own == nullptr || own->code.load(std::memory_order_acquire) == 0) [[likely]]
            return News::none;
        note(static_cast<base::Code>(own->code.load(std::memory_order_relaxed)), own->words());
        return News::told;
    }

    // Tells the reason to one that is not gone. Nobody waits until it has heard.
    void tell(const TroubleTarget& target) noexcept;

private:
    bool note_the_gone(std::span<const std::uint32_t> processes) noexcept;

    gma::Gma& gma_;
    Telling& telling_;
    std::uint32_t deaths_seen_ = 0;
    base::Code code_ = base::Code::ok;
    std::string why_;
};

}  // namespace acp::team
