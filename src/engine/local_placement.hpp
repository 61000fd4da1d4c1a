// SPDX-License-Identifier: BSD-3-Clause
// The memory of the gateway's node, for the router: loads and stores under a hazard line reach mapped memory, the
// kernel reaches private memory of a process in batches, or else its owner does on request. Checks all that arrives
// from the network at the access. Knows no frame and no peer. Delivers completions only from flush() and poll(). A
// copy within the node is done as a whole: the router cuts it into parts. One thread: the gateway's.
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
    // The ways to memory; all must outlive the placement.
    struct Parts {
        local::Space* space = nullptr;
        local::Hazards* hazards = nullptr;
        local::Attach* attach = nullptr;  // nullptr: none of the others' private memory
        mailbox::Port* port = nullptr;    // of the gateway's slot; nullptr: owners are not asked
        const local::OperationTable* operations = nullptr;  // nullptr: there are none
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
    // Unknown numbers, and operations on memory that is private to a process other than this one: Code::unsupported.
    router::Settlement invoke(std::uint32_t operation,
                              std::uint32_t process,
                              std::span<const std::byte> arguments,
                              std::span<std::byte> result,
                              std::uint32_t& result_bytes) override;
    [[nodiscard]] std::uint32_t result_bytes_max(std::uint32_t operation) const override;
    void flush() override;

    // Receives the replies of owners, moves collected copies, delivers completions, and runs one operation that
    // requests have left for later. true if it did any of this.
    bool poll();

    // Whether poll() would do something now; for after a sleep was announced.
    [[nodiscard]] bool has_work() const noexcept;

    // Whether poll() would run an operation that a request has left for later.
    [[nodiscard]] bool has_later() const noexcept { return !later_.is_empty(); }

    // Drops such operations.
    void drop_later() noexcept { later_.clear(); }

    // A process of this node is gone.
    void on_death(std::uint32_t slot);

    // Bytes moved by loads and stores, through the kernel, by owners; for reports.
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
