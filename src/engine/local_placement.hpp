// SPDX-License-Identifier: BSD-3-Clause
// Runs the router's accesses to memory of the gateway's own node. It accesses mapped memory by loads
// and stores under a hazard line, private memory of a process by system calls for many accesses at
// once, and by a request to the owner where the kernel refuses those. It checks addresses and
// arguments of peers when it accesses the memory. Knows no frame and no peer. Delivers completions
// only from flush() and poll(). run() makes a copy within the node as a whole: the router splits
// long copies into parts. One thread: the gateway's.
// Tests: tests/unit/engine/local_placement_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "local/numbered_operation.hpp"
#include "router/placement.hpp"

#include "engine/attach_batch.hpp"
#include "engine/later_operations.hpp"
#include "engine/owner_calls.hpp"
#include "engine/settled.hpp"

namespace acp::engine {

class LocalPlacement final : public router::Placement {
public:
    // What the accesses use; all must outlive the placement.
    struct Parts {
        local::Space* space = nullptr;
        local::Hazards* hazards = nullptr;
        local::Attach* attach = nullptr;  // nullptr: the kernel accesses no private memory
        mailbox::Port* port = nullptr;    // the gateway's own; nullptr: owners are sent no requests
        const local::OperationTable* operations = nullptr;  // nullptr: invoke() knows no operation
    };

    using Settle = std::function<void(Ticket, base::Code, std::uint64_t value)>;

    explicit LocalPlacement(const Parts& parts);

    // Sets the receiver of completions, Router::on_settled. Call it first.
    void bind(Settle settle) { settle_ = std::move(settle); }

    router::Settlement put(GlobalAddress target,
                           std::span<const std::byte> bytes,
                           Ticket ticket) override;
    router::Settlement get_now(GlobalAddress source, std::span<std::byte> into) override;
    [[nodiscard]] const std::byte* find_lasting(GlobalAddress source, std::uint64_t bytes) override;
    router::Settlement get(GlobalAddress source, std::span<std::byte> into, Ticket ticket) override;
    router::Settlement run(const memory::Command& command,
                           bool is_value_wanted,
                           std::uint64_t& old,
                           Ticket ticket) override;
    // Code::unsupported: the number is unknown, or the memory is private to another process.
    router::Settlement invoke(std::uint32_t operation,
                              std::uint32_t process,
                              std::span<const std::byte> arguments,
                              std::span<std::byte> result,
                              std::uint32_t& result_bytes) override;
    [[nodiscard]] std::uint32_t result_bytes_max(std::uint32_t operation) const override;
    void flush() override;

    // Receives the replies of owners, makes the collected copies, delivers completions, and runs one
    // operation that was put off (later_operations.hpp). Returns whether it did any of this.
    bool poll();

    // Whether poll() would do something now. Called between the announcement of a sleep and the sleep.
    [[nodiscard]] bool has_work() const noexcept;

    // Whether poll() would run an operation that was put off.
    [[nodiscard]] bool has_later() const noexcept { return !later_.is_empty(); }

    // Drops the operations that were put off.
    void drop_later() noexcept { later_.clear(); }

    // Called when a process of this node has died: ends the accesses that wait for a reply of it.
    void on_death(std::uint32_t slot);

    // Bytes moved since the start by loads and stores, by the kernel, and by owners, for reports.
    struct Counts {
        std::uint64_t direct_bytes = 0;
        std::uint64_t attach_bytes = 0;
        std::uint64_t owner_bytes = 0;
    };

    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

private:
    enum class Way : std::uint8_t { direct, attach, owner, none, dead };

    [[nodiscard]] Way way_to(const local::Place& place) noexcept;
    [[nodiscard]] static router::Settlement failed(Way way) noexcept;
    [[nodiscard]] router::Settlement of_owner(OwnerCalls::Begun begun,
                                              std::uint64_t bytes) noexcept;
    void tell(SettledList& ended);
    bool ask_owner(const AttachBatch::Copy& refused);
    base::Code put_attached(const local::Place& place, std::span<const std::byte> bytes);
    base::Code get_attached(const local::Place& place, std::span<std::byte> into);
    base::Code get_direct(const local::Place& place, std::span<std::byte> into);
    router::Settlement copy(const memory::Command& command, Ticket ticket);
    router::Settlement copy_here(const memory::Command& command,
                                 const local::Place& target,
                                 const local::Place& source);
    router::Settlement run_atomic(const memory::Command& command,
                                  bool is_value_wanted,
                                  std::uint64_t& old,
                                  Ticket ticket);
    void run_one_later();
    local::NumberedOperation::Ran run_operation(const local::NumberedOperation& row,
                                                std::uint32_t process,
                                                std::span<const std::byte> arguments,
                                                std::span<std::byte> result);
    local::Space& space_;
    local::Hazards& hazards_;
    local::Attach* attach_;
    std::optional<AttachBatch> batch_;
    std::optional<OwnerCalls> owners_;
    const local::OperationTable* operations_;
    LaterOperations later_;
    Settle settle_;
    bool is_telling_ = false;
    Counts counts_;
};

}  // namespace acp::engine
