// SPDX-License-Identifier: BSD-3-Clause
// What layers above have begun and only threads of this process can go on with: non-blocking calls on teams, exchanges, requests of channels.
// Every thread that waits in Completion::wait_until, or for all ranks, goes on with all of it, whatever it waits for: the process that it waits
// for may itself wait for that. Any thread; layers come and go while no other thread is in a call.
// Tests: tests/unit/gma/under_way_test.cpp, tests/conformance/wait_order_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "node/wait.hpp"
#include "os/cpu.hpp"

namespace acp::gma {

class AllUnderWay;

// That of one layer.
class WorkUnderWay {
public:
    //   all  outlives this
    explicit WorkUnderWay(AllUnderWay& all) noexcept;
    virtual ~WorkUnderWay();
    WorkUnderWay(const WorkUnderWay&) = delete;
    WorkUnderWay& operator=(const WorkUnderWay&) = delete;

    // Takes steps that can be taken, which may issue commands. Waits for nothing else but threads that look at something for a moment, never by
    // Completion::wait_until, and passes over what another thread is in a call on, for that one goes on with it.
    //   is_thorough  the caller has announced that it sleeps next: nothing may be passed over that nobody else sees to
    virtual void go_on(bool is_thorough) noexcept = 0;

    // seq_cst: not before the announcement of a sleep; partner: count_begun()
    [[nodiscard]] bool is_empty() const noexcept {
        return count_.load(std::memory_order_seq_cst) == 0;
    }

protected:
    // A thread that sleeps looks again, for it has not looked at this, of which others may have rung already.
    void count_begun() noexcept;

    void count_ended() noexcept { count_.fetch_sub(1, std::memory_order_relaxed); }

private:
    AllUnderWay& all_;
    std::atomic<std::uint32_t> count_{0};
};

class AllUnderWay {
public:
    //   bell  on which threads of this process sleep; outlives this
    explicit AllUnderWay(sync::Bell<>& bell) noexcept : bell_(bell) {}

    AllUnderWay(const AllUnderWay&) = delete;
    AllUnderWay& operator=(const AllUnderWay&) = delete;
    ~AllUnderWay() = default;

    [[nodiscard]] bool is_empty() const noexcept {
        const auto layers = in_use();
        return is_over_ || std::all_of(layers.begin(), layers.end(),
                                       [](const WorkUnderWay* layer) { return layer->is_empty(); });
    }

    // Has the threads of this process that sleep look again.
    void wake_waiters() noexcept { node::ring_bell(bell_); }

    // The epoch ends: nothing goes on any more. While no other thread is in a call.
    void end() noexcept { is_over_ = true; }

    // As WorkUnderWay::go_on(), of all layers.
    void go_on(bool is_thorough) noexcept {
        if (is_over_) return;
        for (WorkUnderWay* const layer : in_use()) {
            if (!layer->is_empty()) layer->go_on(is_thorough);
        }
    }

    // For a thread that asks whether something has come, in vain, and perhaps asks again and again: it sleeps nowhere, so what waiting threads
    // do before that is done here now and then, and others may run.
    void look_in_vain() noexcept {
        const std::uint32_t looks = looks_in_vain_.fetch_add(1, std::memory_order_relaxed);
        if (looks % looks_per_pass == 0) go_on(true);
        if (looks % looks_per_yield == 0) os::yield_cpu();
    }

private:
    friend class WorkUnderWay;
    static constexpr std::size_t layers_max = 4;
    static constexpr std::uint32_t looks_per_pass = 8;
    static constexpr std::uint32_t looks_per_yield = 16;

    [[nodiscard]] std::span<WorkUnderWay* const> in_use() const noexcept {
        return std::span(layers_).first(layers_in_use_);
    }

    sync::Bell<>& bell_;
    std::array<WorkUnderWay*, layers_max> layers_{};
    std::size_t layers_in_use_ = 0;
    bool is_over_ = false;
    std::atomic<std::uint32_t> looks_in_vain_{0};
};

inline void WorkUnderWay::count_begun() noexcept {
    // seq_cst: before the look at the bell; partner: is_empty() of a sleeper that has announced itself
    count_.fetch_add(1, std::memory_order_seq_cst);
    node::ring_bell_after_rmw(all_.bell_);
}

inline WorkUnderWay::WorkUnderWay(AllUnderWay& all) noexcept : all_(all) {
    all_.layers_.at(all_.layers_in_use_++) = this;
}

inline WorkUnderWay::~WorkUnderWay() {
    WorkUnderWay** const end = all_.layers_.data() + all_.layers_in_use_;
    (void)std::remove(all_.layers_.data(), end, this);
    --all_.layers_in_use_;
}

}  // namespace acp::gma
