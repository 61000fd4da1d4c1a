// SPDX-License-Identifier: BSD-3-Clause
// The steps, and the sentences.
#include "api/life.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "os/process.hpp"

namespace acp::api {

namespace {

using enum LifeState;

struct Edge {
    LifeState from;
    Step step;
    LifeState to;
};

constexpr Edge edges[] = {
    {not_initialised, Step::join, joining},
    {over, Step::join, joining},
    {given_up, Step::join, joining},
    {joining, Step::joined, in_use},
    {joining, Step::refuse, not_initialised},
    {in_use, Step::synchronize, meeting},
    {meeting, Step::go_on, in_use},
    {in_use, Step::reset, resetting},
    {resetting, Step::go_on, in_use},
    {resetting, Step::give_up, given_up},
    {in_use, Step::leave, leaving},
    {given_up, Step::leave, leaving},
    {leaving, Step::go_on, in_use},
    {leaving, Step::left, over},
    // The child of a process that had joined once shares its slot and its memory, whatever it did
    // since.
    {not_initialised, Step::fork, forked},
    {joining, Step::fork, forked},
    {in_use, Step::fork, forked},
    {meeting, Step::fork, forked},
    {resetting, Step::fork, forked},
    {leaving, Step::fork, forked},
    {over, Step::fork, forked},
    {given_up, Step::fork, forked},
    {forked, Step::fork, forked},
};

constexpr std::uint32_t no_edge = life_state_count;

constexpr std::uint32_t index(LifeState state) noexcept {
    return static_cast<std::uint32_t>(state);
}

// The steps as a table: the next state for each state and step.
using Table = std::array<std::array<std::uint32_t, step_count>, life_state_count>;

constexpr Table make_table() noexcept {
    Table table{};
    for (auto& row : table) row.fill(no_edge);
    for (const Edge& edge : edges) {
        table[index(edge.from)][static_cast<std::uint32_t>(edge.step)] = index(edge.to);
    }
    return table;
}

constexpr Table table = make_table();

// The call that is running in a state in which no other call can be made.
const char* busy_call(LifeState state) noexcept {
    switch (state) {
        case joining:
            return "acp_init";
        case meeting:
            return "acp_sync";
        case resetting:
            return "acp_reset";
        case leaving:
            return "acp_finalize";
        default:
            return "a collective call";
    }
}

}  // namespace

bool Life::take(Step step) noexcept {
    LifeState now = state_.load(std::memory_order_relaxed);
    for (;;) {
        const std::uint32_t next = table[index(now)][static_cast<std::uint32_t>(step)];
        if (next == no_edge) return false;
        // acq_rel: earlier writes are visible to threads that see the new state, and vice versa
        if (state_.compare_exchange_weak(now, static_cast<LifeState>(next),
                                         std::memory_order_acq_rel, std::memory_order_relaxed)) {
            return true;
        }
    }
}

void Life::set_reason(base::Code code, std::string_view text) noexcept {
    const std::size_t bytes = std::min(text.size(), reason_.size() - 1);
    for (std::size_t i = 0; i < bytes; ++i) reason_[i].store(text[i], std::memory_order_relaxed);
    reason_[bytes].store('\0', std::memory_order_relaxed);
    reason_code_.store(code, std::memory_order_relaxed);
}

ReasonText Life::reason() const noexcept {
    ReasonText text{};
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
        text[i] = reason_[i].load(std::memory_order_relaxed);
        if (text[i] == '\0') break;
    }
    return text;
}

base::Code Life::explain(const char* call, const char* by, std::span<char> into) const noexcept {
    char* text = into.data();
    const std::size_t room = into.size();
    const LifeState now = state();
    const bool is_init = std::string_view(call) == "acp_init";
    if (is_init && (now == in_use || now == meeting)) {
        std::snprintf(
            text, room,
            "acp_init%s: this process has joined already; acp_init is called once per epoch", by);
        return base::Code::state;
    }
    switch (now) {
        case not_initialised:
            if (reason()[0] == '\0') {
                std::snprintf(text, room,
                              "%s%s before acp_init: call that first, and look at what it returns",
                              call, by);
            } else {
                std::snprintf(text, room, "%s%s after an acp_init that failed (%s)", call, by,
                              reason().data());
            }
            return base::Code::state;
        case over:
            std::snprintf(text, room, "%s%s after acp_finalize", call, by);
            return base::Code::state;
        case given_up:
            std::snprintf(text, room,
                          "%s%s after the job was given up; only acp_finalize and acp_init may be "
                          "called now. %s",
                          call, by, reason().data());
            return reason_code();
        case forked:
            std::snprintf(text, room,
                          "%s%s in a forked child (process %d): it is no rank of the job and may "
                          "only exec or _exit",
                          call, by, os::own_pid());
            return base::Code::forked;
        case in_use:  // another thread has changed it back since
        case joining:
        case meeting:
        case resetting:
        case leaving:
            break;
    }
    std::snprintf(
        text, room,
        "%s%s while %s is under way in this process: one thread at a time makes collective "
        "calls",
        call, by, busy_call(now));
    return base::Code::state;
}

const char* name_of(LifeState state) noexcept {
    constexpr std::array<const char*, life_state_count> names = {
        "not initialised", "joining", "in use",   "meeting", "resetting",
        "leaving",         "over",    "given up", "forked"};
    return names[index(state)];
}

}  // namespace acp::api
