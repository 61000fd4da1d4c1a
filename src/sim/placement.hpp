// SPDX-License-Identifier: BSD-3-Clause
// The placement of a simulated node. As the process's manner says, an access settles at once, in
// the next flush(), or later, or is refused for now. Wrong addresses are refused as on a real node.
// One thread.
// Tests: tests/unit/sim/placement_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "router/router.hpp"
#include "sim/agenda.hpp"
#include "sim/memory.hpp"
#include "sim/plan.hpp"

namespace acp::sim {

inline constexpr std::uint32_t operation_echo = 1;  // the only operation that is known

// The result of operation_echo, a function of its arguments. Returns its length.
[[nodiscard]] std::uint32_t echo(std::span<const std::byte> arguments,
                                 std::span<std::byte> result) noexcept;

// The observer of the operations that ran.
class Witness {
public:
    Witness() = default;
    virtual ~Witness() = default;
    Witness(const Witness&) = delete;
    Witness& operator=(const Witness&) = delete;
    virtual void on_invoked(std::uint32_t process, std::span<const std::byte> arguments) = 0;
};

class ArrayPlacement final : public router::Placement {
public:
    struct Surroundings {
        const Plan* plan;
        Memory* memory;
        Agenda* agenda;
        Witness* witness;
        const std::vector<std::uint8_t>* dead;  // per process: nonzero if it died
    };

    ArrayPlacement(const Surroundings& around, NodeId node, std::uint32_t incarnation);

    void bind(router::Router& router) noexcept { router_ = &router; }

    router::Settlement put(router::GlobalAddress target,
                           std::span<const std::byte> bytes,
                           router::Ticket ticket) override;
    router::Settlement get_now(router::GlobalAddress source, std::span<std::byte> into) override;
    [[nodiscard]] const std::byte* find_lasting(router::GlobalAddress source,
                                                std::uint64_t bytes) override;
    router::Settlement get(router::GlobalAddress source,
                           std::span<std::byte> into,
                           router::Ticket ticket) override;
    router::Settlement run(const memory::Command& command,
                           bool is_value_wanted,
                           std::uint64_t& old,
                           router::Ticket ticket) override;
    router::Settlement invoke(std::uint32_t operation,
                              std::uint32_t process,
                              std::span<const std::byte> arguments,
                              std::span<std::byte> result,
                              std::uint32_t& result_bytes) override;
    void flush() override;

    // Handles an event of kind settle. Returns false if it belongs to a placement before a restart.
    bool on_event(const AgendaEntry& event);

    // The number of accesses accepted and not settled.
    [[nodiscard]] std::uint32_t pending() const noexcept { return pending_; }

private:
    enum class Kind : std::uint8_t { none, put, get, run };

    struct PendingAccess {
        Kind kind = Kind::none;
        bool is_value_wanted = false;
        std::uint32_t process = 0;
        router::Ticket ticket = 0;
        Range range;                   // put and get
        memory::Command command;       // run
        std::vector<std::byte> bytes;  // put
        std::span<std::byte> into;     // get
    };

    // Chooses how the next access to a process's memory settles, by its manner.
    router::SettlementState answer(std::uint32_t process);
    PendingAccess& take(std::uint32_t process, Kind kind, router::Ticket ticket);
    base::Code do_job(const PendingAccess& job, std::uint64_t& value) const;
    void settle(std::uint32_t slot);

    Surroundings around_;
    NodeId node_;
    std::uint32_t incarnation_;
    base::Random random_;
    router::Router* router_ = nullptr;
    std::vector<PendingAccess> jobs_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> batch_;  // indices of the jobs that settle in flush()
    std::vector<Time> refuses_until_;   // per process of the job: until when it refuses
    std::uint32_t pending_ = 0;
};

}  // namespace acp::sim
