// SPDX-License-Identifier: BSD-3-Clause
// Operations in flight of layers above on which only threads of this process can make progress:
// non-blocking calls on teams, exchanges, requests of channels. Every thread that waits in
// Completion::wait_until, or for all ranks, makes progress on all of them, whatever it waits for:
// the process that it waits for may itself wait for one of these. Any thread; layers come and go
// while no other thread is in a call.
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

// The operations in flight of one layer.
class WorkUnderWay {
public:
    //   all  outlives this
    explicit WorkUnderWay(AllUnderWay& all) noexcept;
    virtual ~WorkUnderWay();
    WorkUnderWay(const WorkUnderWay&) = delete;
    WorkUnderWay& operator=(const WorkUnderWay&) = delete;

    // Executes steps that are due, which may issue commands. Waits only for threads that hold a
    // lock for a moment, never by Completion::wait_until, and skips operations on which another
    // thread is in a call, because that thread makes progress on them.
    //   is_thorough  the caller has announced that it sleeps next: only operations that another
    //                thread attends to may be skipped
    virtual void go_on(bool is_thorough) noexcept = 0;

    // seq_cst: not before the announcement of a sleep; partner: count_begun()
    [[nodiscard]] bool is_empty() const noexcept {
        return count_.load(std::memory_order_seq_cst) == 0;
    }

protected:
    // Wakes sleeping threads, which have not polled this operation: its ring may have come before.
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

    // Wakes the sleeping threads of this process, so that they poll again.
    void wake_waiters() noexcept { node::ring_bell(bell_); }

    // The epoch ends: no operation makes progress from now on. Called while no other thread is in a
    // call.
    void end() noexcept { is_over_ = true; }

    // Calls WorkUnderWay::go_on() of all layers with operations in flight.
    void go_on(bool is_thorough) noexcept {
        if (is_over_) return;
        for (WorkUnderWay* const layer : in_use()) {
            if (!layer->is_empty()) layer->go_on(is_thorough);
        }
    }

    // Called by a thread that has tested in vain, perhaps in a loop: since it never sleeps, this
    // does from time to time the thorough pass that waiting threads do before a sleep, and yields
    // the CPU.
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
    // seq_cst: before the look at the bell; partner: is_empty() of a sleeper that has announced
    // itself
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
