// SPDX-License-Identifier: BSD-3-Clause
// The outlets of a context: one for each recent destination, by shared memory or by the network.
// Their number is fixed; a new destination reuses the slot of an outlet that is settled. For the
// context's thread. Tests: tests/unit/pm/context_test.cpp.
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

// The outlet to one destination: near or far, if process is set.
struct OutletSlot {
    std::uint32_t process = nobody;
    std::uint64_t last_use = 0;
    std::optional<NearOutlet<NodeHost>> near;
    std::unique_ptr<FarOutlet> far;

    // Reserves room for a message, until commit() or cancel(). nullptr: there is none now.
    [[nodiscard]] char* reserve(std::uint64_t bytes) noexcept {
        return near.has_value() ? near->reserve(bytes) : reserve_far(bytes);
    }

    void commit(std::uint64_t bytes) noexcept {
        if (near.has_value()) [[likely]]
            return near->commit(bytes);
        far->commit(bytes);
    }

    void cancel() noexcept { near.has_value() ? near->cancel() : far->cancel(); }

    // Whether the slot may be reused.
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
    // Throws std::bad_alloc.
    //   host  must outlive this
    //   note  this process's note, shared by all outlets
    Outlets(NodeHost& host, sync::WriterNote<>& note)
        : host_(host), note_(note), staging_(message_bytes_max) {}

    Outlets(const Outlets&) = delete;
    Outlets& operator=(const Outlets&) = delete;
    ~Outlets() = default;

    // nullptr: there is no outlet to this process.
    [[nodiscard]] OutletSlot* find(std::uint32_t process) noexcept;

    // nullptr: the process is gone or has not opened its context, or all slots are in use. A slot
    // is never destroyed: a pointer to one that was reused names another process. Throws
    // std::bad_alloc.
    [[nodiscard]] OutletSlot* find_or_make(std::uint32_t process);

    // Frees the slots of processes that are gone.
    void forget_gone() noexcept;

    // Answers receivers' requests, and makes progress on operations in flight.
    void serve() noexcept;

    // Makes progress. Returns whether all messages have left this process, or never can.
    [[nodiscard]] bool is_sent();

    // Waits for operations in flight to other nodes.
    void settle() noexcept;

private:
    [[nodiscard]] OutletSlot* take_settled();
    void make(OutletSlot& slot, std::uint32_t index, std::uint32_t process);

    NodeHost& host_;
    sync::WriterNote<>& note_;
    std::vector<char> staging_;  // where messages to other nodes are composed
    std::array<OutletSlot, outlets> slots_;
    std::uint64_t uses_ = 0;
};

}  // namespace acp::pm
