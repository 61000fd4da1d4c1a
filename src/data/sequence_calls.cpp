// SPDX-License-Identifier: BSD-3-Clause
// The failures of calls on vectors and deques in words, and where one lies.
#include "data/sequence_calls.hpp"

#include <string>

#include "base/format.hpp"
#include "data/kind_at.hpp"

namespace acp::data {

using base::Code;
using base::Result;
using base::Status;
using sequence::SequenceEffect;
using sequence::SequenceKind;

namespace {

const char* kind_name(SequenceKind kind) noexcept {
    return kind == SequenceKind::vector ? "vector" : "deque";
}

}  // namespace

Status SequenceCalls::damage() {
    return {Code::system,
            "its words contradict each other: the program has overwritten them (acp_heap_check "
            "tells more)"};
}

Status SequenceCalls::none_there(const SequenceName& name) const {
    const auto process = static_cast<std::uint32_t>(gma_.space().layout().process(name.address));
    if (allocator::offset_in_heap(gma_.space(), process, name.address) == heap::no_block) {
        return {Code::address, "global address " + allocator_.name_of(name.address) +
                                   ": no heap is there, nor a " + kind_name(name.kind)};
    }
    auto other = refuse_other_kind(gma_, allocator_, name.address, kind_name(name.kind));
    if (!other.is_ok()) return other;
    return {Code::stale, "no " + std::string(kind_name(name.kind)) + " is at global address " +
                             allocator_.name_of(name.address) +
                             ": it was destroyed, or none was made there"};
}

Result<bool> SequenceCalls::is_here(const SequenceName& name) const {
    auto owner = allocator_.owner_of(name.address);
    if (!owner.is_ok()) return std::move(owner).failure();
    auto heap = allocator_.heap_of(owner.value());
    if (!heap.is_ok()) return std::move(heap).failure();
    return heap.value() != nullptr;
}

Result<bool> SequenceCalls::is_long_and_elsewhere(const SequenceName& name,
                                                  std::uint64_t bytes) const {
    if (bytes <= allocator::copied_bytes_max) return false;
    auto here = is_here(name);
    if (!here.is_ok()) return here;
    return !here.value();
}

Status SequenceCalls::outcome(const SequenceName& name,
                              SequenceEffect effect,
                              std::uint64_t bytes) const {
    switch (effect) {
        case SequenceEffect::done:
            return {};
        case SequenceEffect::outside:
            return {Code::argument,
                    "the range is not inside the content, which has " + base::in_bytes(bytes)};
        case SequenceEffect::damaged:
            return damage();
        case SequenceEffect::no_room:
        case SequenceEffect::held:
        case SequenceEffect::too_long:
        case SequenceEffect::changed:
        case SequenceEffect::busy:
            break;
    }
    Status no_room = allocator_.no_room(
        static_cast<std::uint32_t>(gma_.space().layout().process(name.address)), bytes);
    if (effect == SequenceEffect::no_room) return no_room;
    return std::move(no_room).within(
        "a rank was stopped in a call on it, which others complete with a copy of its content");
}

Result<allocator::SequenceTold> SequenceCalls::tell(const SequenceName& name,
                                                    std::uint64_t index,
                                                    std::uint64_t bytes) const {
    auto told = run<allocator::TellSequence>({name, index, bytes});
    if (!told.is_ok()) return std::move(told).failure();
    return told.value().output;
}

}  // namespace acp::data
