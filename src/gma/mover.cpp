// SPDX-License-Identifier: BSD-3-Clause
// Loads and stores, calls of the kernel, and what went wrong with them in words.
#include "gma/mover.hpp"

#include <array>
#include <string>

#include "gma/inline_access.hpp"
#include "local/direct.hpp"
#include "node/death.hpp"
#include "node/word_sleepers.hpp"

namespace acp::gma {

Mover::Mover(const local::Space& space,
             local::Hazards& hazards,
             local::Attach& attach,
             const Routes& routes,
             Trace* trace) noexcept
    : space_(space), hazards_(hazards), attach_(attach), routes_(routes), trace_(trace) {}

base::Status Mover::move_direct(const Command& command, memory::HazardLine& line) {
    auto status = move_mapped(command, line);
    if (!status.is_ok()) return status;
    detail::count(line, command.bytes);
    if (trace_ != nullptr) {
        trace_->record(command, "direct", space_.rank());
    }
    return {};
}

base::Status Mover::move_part_direct(const Command& part, memory::HazardLine& line) {
    auto status = move_mapped(part, line);
    if (status.is_ok()) detail::count_bytes(line, part.bytes);
    return status;
}

base::Status Mover::move_mapped(const Command& command, memory::HazardLine& line) {
    const GlobalAddress written = command.target_or_word();
    hazards_.enter(line, written, command.source);
    local::Place target;
    local::Place source;
    const base::Code target_code = space_.find(written, command.bytes, target);
    const base::Code source_code = space_.find(command.source, command.bytes, source);
    const bool is_found = target_code == base::Code::ok && source_code == base::Code::ok;
    if (is_found && command.is_copy()) {
        local::move_bytes(target.direct, source.direct, command.bytes);
    } else if (is_found) {
        const std::uint64_t old = local::apply(command, source.direct);
        if (command.has_target()) local::store_old(target.direct, old, command.width);
        node::ring_word_sleepers(space_.segment(), source.slot);
    }
    if (is_found) node::ring_word_sleepers(space_.segment(), target.slot);
    memory::leave(line);
    if (!is_found) {
        const bool is_target = command.has_target() && target_code != base::Code::ok;
        return routes_.bad_address(command, is_target, is_target ? target_code : source_code);
    }
    return {};
}

void Mover::move_attached(std::span<const Job> batch,
                          std::span<base::Status> outcomes,
                          memory::HazardLine& line) {
    std::array<local::AttachCopy, batch_max> copies;
    std::array<std::uint32_t, batch_max> which;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::uint32_t count = 0;
    // All copies of a batch lie in the segments of the same two granules: one pair of names covers
    // them.
    hazards_.enter(line, batch[0].command->target, batch[0].command->source);
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
        const Command& command = *batch[i].command;
        local::AttachCopy& copy = copies[count];
        copy.bytes = command.bytes;
        const base::Code target_code = space_.find(command.target, command.bytes, copy.target);
        const base::Code source_code = space_.find(command.source, command.bytes, copy.source);
        if (target_code != base::Code::ok || source_code != base::Code::ok) {
            const bool is_target = target_code != base::Code::ok;
            outcomes[i] =
                routes_.bad_address(command, is_target, is_target ? target_code : source_code);
            continue;
        }
        copy.target.direct = routes_.is_here(copy.target) ? copy.target.direct : nullptr;
        copy.source.direct = routes_.is_here(copy.source) ? copy.source.direct : nullptr;
        which[count++] = i;
    }
    attach_.run({copies.data(), count});
    memory::leave(line);
    for (std::uint32_t k = 0; k < count; ++k) {
        if (copies[k].code != base::Code::ok) [[unlikely]] {
            outcomes[which[k]] = outcome_of(*batch[which[k]].command, copies[k]);
            continue;
        }
        node::ring_word_sleepers(space_.segment(), copies[k].target.slot);
        if (trace_ != nullptr) {
            trace_->record(*batch[which[k]].command, "attach", space_.rank());
        }
    }
}

base::Status Mover::outcome_of(const Command& command, const local::AttachCopy& copy) {
    const std::uint32_t slot = copy.is_target_refused ? copy.target.slot : copy.source.slot;
    if (copy.code == base::Code::peer) {
        node::find_the_dead(space_.segment());
        return base::Status::worded(base::Code::peer, [&] {
            return subject_of(command, space_.rank()) + ": " + node::fate(space_.segment(), slot);
        });
    }
    if (copy.code == base::Code::unsupported) {
        return base::Status::worded(copy.code, [&] {
            return subject_of(command, space_.rank()) +
                   ": the kernel no longer lets this process attach to " +
                   node::name_of(space_.segment(), slot) + ", " + attach_.refusal(slot) +
                   ", and ACP_REQUIRE or ACP_INTRANODE forbids another way";
        });
    }
    return base::Status::worded(copy.code, [&] {
        return subject_of(command, space_.rank()) + ": the kernel refused to move " +
               space_.explain(copy.is_target_refused ? command.target : command.source,
                              command.bytes) +
               "; is the memory still mapped there?";
    });
}

base::Status Mover::apply_for_private_target(const Command& command, memory::HazardLine& line) {
    const GlobalAddress written = command.target_or_word();
    hazards_.enter(line, written, command.source);
    local::AttachCopy copy;
    local::Place word;
    const base::Code target_code = space_.find(written, command.bytes, copy.target);
    const base::Code source_code = space_.find(command.source, command.bytes, word);
    if (target_code != base::Code::ok || source_code != base::Code::ok) {
        memory::leave(line);
        const bool is_target = command.has_target() && target_code != base::Code::ok;
        return routes_.bad_address(command, is_target, is_target ? target_code : source_code);
    }
    std::uint64_t old = local::apply(command, word.direct);
    if (!command.has_target()) {
        // the old value is not wanted
    } else if (copy.target.direct != nullptr && routes_.is_here(copy.target)) {
        local::store_old(copy.target.direct, old, command.width);
    } else {
        copy.target.direct = nullptr;
        copy.source.direct = reinterpret_cast<char*>(&old);
        copy.bytes = command.width;
        attach_.run({&copy, 1});
    }
    memory::leave(line);
    node::ring_word_sleepers(space_.segment(), word.slot);
    node::ring_word_sleepers(space_.segment(), copy.target.slot);
    if (copy.code != base::Code::ok) {
        return base::Status::worded(copy.code, [&] {
            return subject_of(command, space_.rank()) +
                   ": it ran, but the old value did not reach the target, " +
                   space_.explain(command.target, command.bytes);
        });
    }
    if (trace_ != nullptr) {
        trace_->record(command, "attach", space_.rank());
    }
    return {};
}

}  // namespace acp::gma
