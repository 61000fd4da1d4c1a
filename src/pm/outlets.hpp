// SPDX-License-Identifier: BSD-3-Clause
// The ways of a context to those it sends to: one for each destination of late, by shared memory or by the network. As many as there is
// room for are kept at a time; another destination takes the place of one that has received all. For the context's thread.
// Tests: tests/conformance/pm_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "pm/far_outlet.hpp"
#include "pm/near_outlet.hpp"
#include "pm/node_host.hpp"

namespace acp::pm {

// The way to one destination: near or far, once there is a process.
struct OutletSlot {
    std::uint32_t process = nobody;
    std::uint64_t last_use = 0;
    std::optional<NearOutlet<NodeHost>> near;
    std::unique_ptr<FarOutlet> far;

    // Room for a message, until commit() or cancel(). nullptr: there is none now.
    [[nodiscard]] char* reserve(std::uint64_t bytes) noexcept {
        return near.has_value() ? near->reserve(bytes) : reserve_far(bytes);
    }

    void commit(std::uint64_t bytes) noexcept {
        if (near.has_value()) [[likely]]
            return near->commit(bytes);
        far->commit(bytes);
    }

    void cancel() noexcept { near.has_value() ? near->cancel() : far->cancel(); }

    // Whether nobody needs this way any more.
    [[nodiscard]] bool is_settled() {
        return near.has_value() ? near->is_settled() : far->is_settled();
    }

    void clear() noexcept {
        process = nobody;
        near.reset();
        far.reset();
    }

private:
    [[nodiscard]] char* reserve_far(std::uint64_t bytes) const noexcept;
};

class Outlets {
public:
    //   host  outlives this
    //   note  of this process, for all of them
    // Throws std::bad_alloc.
    Outlets(NodeHost& host, sync::WriterNote<>& note)
        : host_(host), note_(note), staging_(message_bytes_max) {}

    Outlets(const Outlets&) = delete;
    Outlets& operator=(const Outlets&) = delete;
    ~Outlets() = default;

    // nullptr: there is none.
    [[nodiscard]] OutletSlot* find(std::uint32_t process) noexcept;

    // nullptr: it is gone, has not opened its context, or there is no place now. Pointers to a slot that gave up its place stay valid, and
    // name another process. Throws std::bad_alloc.
    [[nodiscard]] OutletSlot* find_or_make(std::uint32_t process);

    // The places of those that are gone serve others.
    void forget_gone() noexcept;

    // Answers receivers, and goes on with what is under way.
    void serve() noexcept;

    // Goes on with what is under way. Whether all that was sent has left this process, or cannot.
    [[nodiscard]] bool is_sent();

    // Waits for what is under way to other nodes.
    void settle() noexcept;

private:
    [[nodiscard]] OutletSlot* take_settled();
    void make(OutletSlot& slot, std::uint32_t index, std::uint32_t process);

    NodeHost& host_;
    sync::WriterNote<>& note_;
    std::vector<char> staging_;  // of messages to other nodes
    std::array<OutletSlot, outlets> slots_;
    std::uint64_t uses_ = 0;
};

}  // namespace acp::pm
