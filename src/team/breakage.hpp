// SPDX-License-Identifier: BSD-3-Clause
// This process's failure state of a collective object (a team or a plan): the first error that it
// detected or was notified of. A process detects errors and the loss of other processes itself.
// Other processes notify it by writing into the Trouble of its block, and it notifies them in the
// same way. The first reason stays. The caller decides which processes are notified, and when. For
// the one thread that is in a call on the team or plan.
// Tests: tests/conformance/team_test.cpp, tests/conformance/exchange_test.cpp, tests/team,
// tests/exchange.
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

// The failure record of a process to be notified.
struct TroubleTarget {
    std::uint32_t process = 0;
    // the record, if it lies on this node: its writer then rings the owner
    Trouble* near = nullptr;
    memory::GlobalAddress trouble = 0;  // the record's address, if it lies on another node
};

class Breakage {
public:
    enum class News : std::uint8_t { none, death, told };

    // Both arguments must outlive this.
    Breakage(gma::Gma& gma, Telling& telling) noexcept : gma_(gma), telling_(telling) {}

    Breakage(const Breakage&) = delete;
    Breakage& operator=(const Breakage&) = delete;
    ~Breakage() = default;

    [[nodiscard]] bool is_broken() const noexcept { return code_ != base::Code::ok; }

    // The reason, once it is broken.
    [[nodiscard]] base::Status failure() const;

    // Notes the reason, unless there is one already.
    //   why  dropped if there is no memory for it
    void note(base::Code code, std::string_view why) noexcept;

    // Checks for a reason and notes it, unless there is one already.
    //   processes  of all members; the caller may be among them
    //   own        the caller's failure record; nullptr: it has none
    News look(std::span<const std::uint32_t> processes, const Trouble* own) noexcept {
        // acquire: makes the fate of the dead visible; partner: node::mark_dead, node::count_loss
        const std::uint32_t deaths =
            gma_.space().segment().control().deaths.load(std::memory_order_acquire);
        if (deaths != deaths_seen_) [[unlikely]] {
            deaths_seen_ = deaths;
            if (note_the_gone(processes)) return News::death;
        }
        // acquire: makes the text visible; partners: Trouble::tell, operations::put_signal_set
        if (own == nullptr || own->code.load(std::memory_order_acquire) == 0) [[likely]]
            return News::none;
        note(static_cast<base::Code>(own->code.load(std::memory_order_relaxed)), own->words());
        return News::told;
    }

    // Notifies a process, if it is not gone, of the reason. Does not wait for it.
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
