// SPDX-License-Identifier: BSD-3-Clause
// Moves the bytes of commands by the calling thread: memory mapped here by loads and stores
// (direct), private memory of other processes by the kernel (attach). Knows no order, no queue and
// no lock; says how each command ended. Any thread that has a hazard line.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "gma/routes.hpp"
#include "gma/trace.hpp"
#include "local/attach.hpp"
#include "local/hazards.hpp"
#include "local/space.hpp"

namespace acp::gma {

// A ready command that a thread of this process runs.
struct Job {
    std::uint64_t number = 0;
    const Command* command = nullptr;  // in the queue, until the number is finished
    Route route = Route::none;         // direct or attach
};

class Mover {
public:
    static constexpr std::uint32_t batch_max = local::attach_batch_max;

    //   all but trace  must outlive this
    //   trace          records each command; nullptr: there is none
    Mover(const local::Space& space,
          local::Hazards& hazards,
          local::Attach& attach,
          const Routes& routes,
          Trace* trace) noexcept;

    // A copy or an atomic between places mapped here. Errors: address, stale.
    base::Status move_direct(const Command& command, memory::HazardLine& line);

    // Moves a part of a copy, which is counted in bytes but not as a command.
    base::Status move_part_direct(const Command& part, memory::HazardLine& line);

    // Copies between the same two granules in as few system calls as can be. An outcome for each:
    // ok, address, stale, peer, system, or unsupported: the kernel refused, nothing was moved, and
    // the owner can be asked.
    void move_attached(std::span<const Job> batch,
                       std::span<base::Status> outcomes,
                       memory::HazardLine& line);

    // Does so for one copy.
    [[nodiscard, gnu::always_inline]] inline base::Status move_attached_one(
        const Job& job, memory::HazardLine& line) {
        local::AttachCopy copy;
        base::Status outcome;
        hazards_.enter(line, job.command->target, job.command->source);
        const bool is_found = routes_.find_attach(*job.command, copy);
        if (is_found) [[likely]] {
            attach_.run(copy);
        }
        memory::leave(line);
        if (!is_found) [[unlikely]] {  // both ends private to others, or an address gone bad
            move_attached({&job, 1}, {&outcome, 1}, line);
        } else if (copy.code != base::Code::ok) [[unlikely]] {
            outcome = outcome_of(*job.command, copy);
        }
        return outcome;
    }

    // An atomic on a word mapped here, whose old value goes to private memory of another process.
    base::Status apply_for_private_target(const Command& command, memory::HazardLine& line);

    [[nodiscard]] bool is_tracing() const noexcept { return trace_ != nullptr; }

private:
    base::Status move_mapped(const Command& command, memory::HazardLine& line);
    [[gnu::cold]] base::Status outcome_of(const Command& command, const local::AttachCopy& copy);

    const local::Space& space_;
    local::Hazards& hazards_;
    local::Attach& attach_;
    const Routes& routes_;
    Trace* trace_;
};

}  // namespace acp::gma
