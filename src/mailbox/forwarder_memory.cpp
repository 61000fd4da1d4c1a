// SPDX-License-Identifier: BSD-3-Clause
// Makes the accesses, and reports each one to the trace.
#include "mailbox/forwarder_memory.hpp"

#include "local/direct.hpp"
#include "node/word_sleepers.hpp"

namespace acp::mailbox {

ForwarderMemory::ForwarderMemory(local::Space& space,
                                 local::Hazards& hazards,
                                 ForwarderCounters& counters)
    : space_(space), hazards_(hazards), counters_(counters), own_slot_(space.slot()) {}

void ForwarderMemory::move(const memory::Command& command,
                           const local::Place& target,
                           const local::Place& source,
                           std::uint32_t origin) {
    local::move_bytes(target.direct, source.direct, command.bytes);
    note_moved(command, target, origin);
}

void ForwarderMemory::note_moved(const memory::Command& command,
                                 const local::Place& target,
                                 std::uint32_t origin) {
    node::ring_word_sleepers(space_.segment(), target.slot);
    if (origin != own_slot_) counters_.note_served_bytes(command.bytes);
    if (observer_) observer_(command, origin);
}

AccessVerdict ForwarderMemory::write(memory::GlobalAddress target,
                                     std::span<const char> bytes,
                                     memory::GlobalAddress source,
                                     std::uint32_t origin) {
    const Naming naming(*this, target, target);
    local::Place place;
    AccessVerdict verdict = find_target(target, bytes.size(), place);
    const bool is_here = reaches_here(place) && place.direct != nullptr;
    if (verdict.is_ok() && !is_here) verdict.code = base::Code::address;
    if (verdict.is_ok()) {
        local::move_bytes(place.direct, bytes.data(), bytes.size());
        node::ring_word_sleepers(space_.segment(), place.slot);
        if (observer_) {
            observer_({memory::Operation::copy, 0, target, source, bytes.size(), 0, 0}, origin);
        }
    }
    if (origin != own_slot_) counters_.note_served_bytes(bytes.size());
    return verdict;
}

AccessVerdict ForwarderMemory::run_atomic(const memory::Command& command,
                                          const local::Place& word,
                                          std::uint32_t origin) const {
    if (command.width == 0 || word.owner_address % command.width != 0) {
        return {base::Code::alignment, Blame::source, 0};
    }
    const std::uint64_t old = local::apply(command, word.direct);
    node::ring_word_sleepers(space_.segment(), word.slot);
    if (observer_) observer_(command, origin);
    return {base::Code::ok, Blame::nothing, old};
}

}  // namespace acp::mailbox
