// SPDX-License-Identifier: BSD-3-Clause
// Writes a gateway's counters into its stats block: at most once per stats_interval_ns, and at once
// when asked. Knows no format for people. One thread, but ask() from any. Tests:
// tests/unit/gateway/stats_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "gateway/stats_block.hpp"
#include "os/file_descriptor.hpp"
#include "os/mapping.hpp"

#include "engine/engine.hpp"

namespace acp::gateway {

using datagram::NodeId;
using datagram::Time;

class StatsPublisher {
public:
    // What the owner of the core counts itself.
    struct Own {
        std::uint64_t turns = 0;
        std::uint64_t sleeps = 0;
    };

    enum class Owner : std::uint8_t { agent, rank };

    //   local_procs  of the node   Errors: limit, memory, system. Throws std::bad_alloc.
    static base::Result<StatsPublisher> create(NodeId node,
                                               NodeId nodes,
                                               std::uint32_t first_process,
                                               std::uint32_t local_procs,
                                               Owner owner);

    [[nodiscard]] int fd() const noexcept { return file_.get(); }

    void ask() noexcept { is_asked_->store(true, std::memory_order_relaxed); }

    // Whether it is time to publish.   is_dirty  something has changed since the last time
    [[nodiscard]] bool is_due(Time now, bool is_dirty) const noexcept {
        return (is_dirty && now >= next_ns_) || is_asked();
    }

    // relaxed: who asked also wakes the gateway
    [[nodiscard]] bool is_asked() const noexcept {
        return is_asked_->load(std::memory_order_relaxed);
    }

    [[nodiscard]] Time next_ns() const noexcept { return next_ns_; }

    void publish(Time now, engine::Engine& core, const Own& own);

private:
    StatsPublisher(os::FileDescriptor file, os::Mapping mapping);
    void fill(StatsValues& values, engine::Engine& core) const;
    static void fill_tables(StatsTables& tables, engine::Engine& core);

    os::FileDescriptor file_;
    os::Mapping mapping_;
    std::unique_ptr<std::atomic<bool>> is_asked_;
    std::unique_ptr<StatsValues> values_;  // gathered here, then copied into the block
    std::uint32_t first_process_ = 0;
    Time next_ns_ = 0;
};

// Takes a consistent copy of a block that another process writes. Returns false if the block is of
// another build or was never written, or if its writer is active at each of a few tries.
[[nodiscard]] bool read_stats(const StatsBlock& block, StatsValues& into) noexcept;

}  // namespace acp::gateway
