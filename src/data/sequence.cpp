// SPDX-License-Identifier: BSD-3-Clause
// On the caller's node the core runs in the calling thread; for other nodes a request is made, and
// a stage for long bytes.
#include "data/sequence.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "base/format.hpp"
#include "data/ask.hpp"
#include "data/kind_at.hpp"

namespace acp::data {

using allocator::SequenceResult;
using allocator::SequenceTold;
using base::Code;
using base::Result;
using base::Status;
using sequence::ContentEnd;
using sequence::Portion;
using sequence::SequenceEffect;
using sequence::SequenceKind;

namespace {

const char* kind_name(SequenceKind kind) noexcept {
    return kind == SequenceKind::vector ? "vector" : "deque";
}

Status damage() {
    return {Code::system,
            "its words contradict each other: the program has overwritten them (acp_heap_check "
            "tells more)"};
}

}  // namespace

// A block of another node's heap, for bytes in transit.
class Sequences::Stage {
public:
    Stage(gma::Gma& gma, Allocator& allocator) noexcept : gma_(gma), allocator_(allocator) {}

    ~Stage() {
        if (lent_.address != 0) allocator_.give_back(lent_);
    }

    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    [[nodiscard]] Status borrow(std::uint32_t owner, std::uint64_t bytes) {
        auto lent = allocator_.borrow(owner, bytes);
        if (!lent.is_ok())
            return std::move(lent).failure().within("the bytes pass through a block of its heap");
        lent_ = lent.value();
        return {};
    }

    [[nodiscard]] Status put(const char* source, std::uint64_t bytes) {
        return data::put(gma_, lent_.address, source, bytes);
    }

    [[nodiscard]] Status get(char* target, std::uint64_t bytes) {
        return data::get(gma_, target, lent_.address, bytes);
    }

    [[nodiscard]] const allocator::LentBlock& lent() const noexcept { return lent_; }

private:
    gma::Gma& gma_;
    Allocator& allocator_;
    allocator::LentBlock lent_;
};

// The sequence of a call on the caller's node.
struct Sequences::Here {
    allocator::NodeSequences& sequences;
    table::BlockNumber number;
};

Status Sequences::none_there(const SequenceName& name) const {
    const auto process = static_cast<std::uint32_t>(gma_.space().layout().process(name.address));
    if (allocator::offset_in_heap(gma_.space(), process, name.address) == heap::no_block) {
        return {Code::address, "global address " + base::hex(name.address) +
                                   ": no heap is there, nor a " + kind_name(name.kind)};
    }
    auto other = refuse_other_kind(gma_, allocator_, name.address, kind_name(name.kind));
    if (!other.is_ok()) return other;
    return {Code::stale, "no " + std::string(kind_name(name.kind)) + " is at global address " +
                             base::hex(name.address) +
                             ": it was destroyed, or none was made there"};
}

Result<bool> Sequences::is_here(const SequenceName& name, std::uint32_t& owner) {
    auto found = allocator_.owner_of(name.address);
    if (!found.is_ok()) return std::move(found).failure();
    owner = found.value();
    auto heap = allocator_.heap_of(owner);
    if (!heap.is_ok()) return std::move(heap).failure();
    return heap.value() != nullptr;
}

// Runs call(Here) on a sequence of this node.
template <typename Call>
Status Sequences::here(const SequenceName& name, std::uint32_t owner, const Call& call) {
    auto heap = allocator_.heap_of(owner);
    if (!heap.is_ok()) return std::move(heap).failure();
    const table::BlockNumber number = allocator::sequence_at(gma_.space(), owner, name.address);
    if (number == 0) return none_there(name);
    local::Hazards::Lease lease(gma_.hazards());
    allocator::NodeSequences sequences(*heap.value(), gma_.hazards().index_of(lease.line()));
    if (!sequences->is_one(number, name.kind)) return none_there(name);
    return call(Here{sequences, number});
}

// Converts an effect to a status.   bytes  that the caller wanted room for
Status Sequences::outcome(std::uint32_t owner, SequenceEffect effect, std::uint64_t bytes) {
    switch (effect) {
        case SequenceEffect::done:
            return {};
        case SequenceEffect::outside:
            return {Code::argument, "the range is not inside the content"};
        case SequenceEffect::damaged:
            return damage();
        case SequenceEffect::no_room:
            break;
    }
    return allocator_.no_room(owner, bytes);
}

// Runs an operation on a sequence of another node. Errors: stale (it is not there).
Status Sequences::ask(const SequenceName& name, const gma::Invocation& call) {
    auto status = allocator_.ask(call);
    if (status.code() == Code::stale) return none_there(name);
    return status.code() == Code::system ? damage() : std::move(status);
}

// Sends a request with bytes, by a stage if they are many. Returns the number in its result.
//   wanted  bytes for which there may be no room
template <typename Request>
Result<std::uint64_t> Sequences::change_there(std::uint32_t owner,
                                              std::uint32_t operation,
                                              Request request,
                                              const char* source,
                                              std::uint64_t bytes,
                                              std::uint64_t wanted) {
    std::array<std::byte, memory::invoke_bytes_max> arguments;  // NOLINT: written as far as read
    std::uint64_t following = bytes;
    Stage stage(gma_, allocator_);
    if (bytes > allocator::sequence_inline_max) {
        auto status = stage.borrow(owner, bytes);
        if (status.is_ok()) status = stage.put(source, bytes);
        if (!status.is_ok()) return status;
        request.stage = stage.lent();
        following = 0;
    }
    std::memcpy(arguments.data(), &request, sizeof request);
    if (following != 0) std::memcpy(arguments.data() + sizeof request, source, following);
    std::array<std::byte, memory::invoke_bytes_max> result;  // NOLINT: read as far as written
    std::uint32_t told_bytes = 0;
    auto status =
        ask(request.name, {owner, operation, std::span(arguments).first(sizeof request + following),
                           result, &told_bytes});
    SequenceResult told;
    if (status.is_ok()) std::memcpy(&told, result.data(), sizeof told);
    if (status.is_ok()) status = outcome(owner, told.effect, wanted);
    if (!status.is_ok()) return status;
    return told.bytes;
}

// Sends a request whose result has bytes from an index; if they did not fit, again with a stage
// that is somewhat larger than needed.
template <typename Request>
Result<Portion> Sequences::fetch_there(std::uint32_t owner,
                                       std::uint32_t operation,
                                       Request request,
                                       std::uint64_t index,
                                       char* target) {
    std::array<std::byte, memory::invoke_bytes_max> result;  // NOLINT: read as far as written
    for (std::uint64_t room = allocator::sequence_inline_max;;) {
        Stage stage(gma_, allocator_);
        if (room > allocator::sequence_inline_max) {
            auto status = stage.borrow(owner, room);
            if (!status.is_ok()) return status;
            request.stage = stage.lent();
        }
        std::uint32_t told_bytes = 0;
        auto status = ask(request.name, {owner, operation, std::as_bytes(std::span(&request, 1)),
                                         result, &told_bytes});
        SequenceResult told;
        if (status.is_ok()) std::memcpy(&told, result.data(), sizeof told);
        if (status.is_ok()) status = outcome(owner, told.effect, room);
        if (!status.is_ok()) return status;
        const std::uint64_t wanted =
            std::min(request.bytes, told.there - std::min(told.there, index));
        if (told.bytes < wanted) {
            room = std::min(request.bytes, wanted + wanted / 8);
            continue;
        }
        if (request.stage.address == 0) {
            std::memcpy(target, result.data() + sizeof told, told_bytes - sizeof told);
        } else if (told.bytes != 0) {
            status = stage.get(target, told.bytes);
        }
        if (!status.is_ok()) return status;
        return Portion{told.bytes, told.there};
    }
}

Result<SequenceTold> Sequences::tell_there(std::uint32_t owner,
                                           const allocator::SequenceTell& request) {
    SequenceTold told;
    std::uint32_t told_bytes = 0;
    auto status = ask(request.name, {owner, allocator::sequence_tell_number,
                                     std::as_bytes(std::span(&request, 1)),
                                     std::as_writable_bytes(std::span(&told, 1)), &told_bytes});
    if (!status.is_ok()) return status;
    return told;
}

Result<GlobalAddress> Sequences::make(std::uint32_t process,
                                      SequenceKind kind,
                                      std::uint64_t bytes,
                                      std::uint64_t capacity) {
    auto heap = allocator_.heap_of(process);
    if (!heap.is_ok()) return std::move(heap).failure();
    GlobalAddress address = 0;
    if (heap.value() == nullptr) {
        const allocator::SequenceMake request{kind, bytes, capacity, gma_.space().process()};
        std::uint32_t told = 0;
        auto status = allocator_.ask({process, allocator::sequence_make_number,
                                      std::as_bytes(std::span(&request, 1)),
                                      std::as_writable_bytes(std::span(&address, 1)), &told});
        if (!status.is_ok()) return status;
    } else {
        local::Hazards::Lease lease(gma_.hazards());
        allocator::NodeSequences sequences(*heap.value(), gma_.hazards().index_of(lease.line()));
        table::BlockNumber made = 0;
        (void)sequences.with_room([&] {
            made = sequences->make(kind, bytes, capacity, gma_.space().process());
            return made != 0 ? SequenceEffect::done : SequenceEffect::no_room;
        });
        sequences->keep();
        address = made != 0 ? allocator_.start_of(process) + table::offset_of(made) : 0;
    }
    if (address == 0) return allocator_.no_room(process, std::max(bytes, capacity));
    return address;
}

Status Sequences::destroy(const SequenceName& name) {
    std::uint32_t owner = 0;
    auto where = is_here(name, owner);
    if (!where.is_ok()) return std::move(where).failure();
    if (!where.value()) {
        return ask(name, {owner,
                          allocator::sequence_destroy_number,
                          std::as_bytes(std::span(&name, 1)),
                          {},
                          nullptr});
    }
    return here(name, owner, [&](const Here& found) {
        return found.sequences.destroy(found.number, name.kind) ? Status() : none_there(name);
    });
}

Result<std::uint64_t> Sequences::push(const SequenceName& name,
                                      ContentEnd end,
                                      const char* source,
                                      std::uint64_t bytes) {
    std::uint32_t owner = 0;
    auto where = is_here(name, owner);
    if (!where.is_ok()) return std::move(where).failure();
    if (!where.value()) {
        return change_there(
            owner, allocator::sequence_push_number,
            allocator::SequencePush{name, end == ContentEnd::front ? 1U : 0U, {}, bytes}, source,
            bytes, bytes);
    }
    std::uint64_t index = 0;
    SequenceEffect effect = SequenceEffect::done;
    auto status = here(name, owner, [&](const Here& found) {
        effect = found.sequences.with_room(
            [&] { return found.sequences->push(found.number, end, source, bytes, index); });
        return Status();
    });
    if (status.is_ok()) status = outcome(owner, effect, bytes);
    if (!status.is_ok()) return status;
    return index;
}

Result<std::uint64_t> Sequences::pop(const SequenceName& name,
                                     ContentEnd end,
                                     char* target,
                                     std::uint64_t bytes) {
    std::uint32_t owner = 0;
    auto where = is_here(name, owner);
    if (!where.is_ok()) return std::move(where).failure();
    if (!where.value()) {
        const allocator::SequencePop request{
            name, end == ContentEnd::front ? 1U : 0U, target != nullptr ? 1U : 0U, {}, bytes};
        if (target == nullptr)
            return change_there(owner, allocator::sequence_pop_number, request, nullptr, 0, 0);
        auto taken = fetch_there(owner, allocator::sequence_pop_number, request, 0, target);
        if (!taken.is_ok()) return std::move(taken).failure();
        return taken.value().bytes;
    }
    Portion removed;
    SequenceEffect effect = SequenceEffect::done;
    auto status = here(name, owner, [&](const Here& found) {
        effect = found.sequences.with_room([&] {
            return found.sequences->pop(found.number, {end, target, bytes}, removed);
        });
        return Status();
    });
    if (status.is_ok()) status = outcome(owner, effect, bytes);
    if (!status.is_ok()) return status;
    return removed.bytes;
}

Result<Portion> Sequences::read(const SequenceName& name,
                                std::uint64_t index,
                                char* target,
                                std::uint64_t bytes) {
    std::uint32_t owner = 0;
    auto where = is_here(name, owner);
    if (!where.is_ok()) return std::move(where).failure();
    if (!where.value()) {
        return fetch_there(owner, allocator::sequence_read_number,
                           allocator::SequenceRead{name, index, {}, bytes}, index, target);
    }
    Portion copied;
    auto status = here(name, owner, [&](const Here& found) {
        return outcome(owner, found.sequences->read(found.number, index, target, bytes, copied),
                       bytes);
    });
    if (!status.is_ok()) return status;
    return copied;
}

Result<std::uint64_t> Sequences::splice(const SequenceName& name, const sequence::Splice& splice) {
    std::uint32_t owner = 0;
    auto where = is_here(name, owner);
    if (!where.is_ok()) return std::move(where).failure();
    if (!where.value()) {
        auto changed = change_there(owner, allocator::sequence_splice_number,
                                    allocator::SequenceSplice{name,
                                                              splice.at,
                                                              splice.removed,
                                                              splice.added,
                                                              splice.capacity_least,
                                                              splice.must_fit ? 1U : 0U,
                                                              splice.may_shrink ? 1U : 0U,
                                                              {}},
                                    splice.source, splice.added,
                                    std::max(splice.added, splice.capacity_least));
        if (changed.is_ok() || changed.failure().code() != Code::memory || !splice.must_fit)
            return changed;
        // Without room for the stage the request was not sent, so the range is checked here.
        auto told = tell_there(owner, {name, 0, 0});
        if (!told.is_ok()) return std::move(told).failure();
        const std::uint64_t there = told.value().bytes;
        if (splice.at <= there && splice.removed <= there - splice.at) return changed;
        return outcome(owner, SequenceEffect::outside, 0);
    }
    std::uint64_t before = 0;
    SequenceEffect effect = SequenceEffect::done;
    auto status = here(name, owner, [&](const Here& found) {
        effect = found.sequences.with_room(
            [&] { return found.sequences->splice(found.number, splice, before); });
        return Status();
    });
    if (status.is_ok())
        status = outcome(owner, effect, std::max(splice.added, splice.capacity_least));
    if (!status.is_ok()) return status;
    return before;
}

Result<SequenceTold> Sequences::tell(const SequenceName& name,
                                     std::uint64_t index,
                                     std::uint64_t bytes) {
    std::uint32_t owner = 0;
    auto where = is_here(name, owner);
    if (!where.is_ok()) return std::move(where).failure();
    if (!where.value()) return tell_there(owner, {name, index, bytes});
    SequenceTold told;
    auto status = here(name, owner, [&](const Here& found) {
        sequence::SequenceLayout layout;
        const SequenceEffect effect = found.sequences->layout(found.number, index, bytes, layout);
        if (effect != SequenceEffect::done) return outcome(owner, effect, 0);
        told.bytes = layout.bytes;
        told.capacity = layout.capacity;
        for (std::size_t i = 0; i < layout.pieces.size(); ++i) {
            const sequence::ContentPiece& piece = layout.pieces[i];
            told.addresses[i] = piece.bytes != 0 ? allocator_.start_of(owner) + piece.place : 0;
            told.pieces[i] = piece.bytes;
        }
        return Status();
    });
    if (!status.is_ok()) return status;
    return told;
}

}  // namespace acp::data
