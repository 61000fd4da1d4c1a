// SPDX-License-Identifier: BSD-3-Clause
// Reads the arguments, works on the sequence, writes the result.
#include "allocator/sequence_operations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "base/format.hpp"

#include "allocator/node_sequences.hpp"
#include "allocator/operation_bytes.hpp"
#include "allocator/operations.hpp"

namespace acp::allocator {

namespace on_sequences {

namespace {

using base::Code;
using local::NumberedOperation;
using local::OperationContext;
using memory::GlobalAddress;
using sequence::ContentEnd;
using sequence::SequenceEffect;
using sequence::SequenceKind;
using table::BlockNumber;
using Ran = NumberedOperation::Ran;
using Arguments = OperationArguments;
using Result = OperationResult;

bool is_kind(SequenceKind kind) noexcept {
    return kind == SequenceKind::vector || kind == SequenceKind::deque;
}

bool is_flag(std::uint64_t value) noexcept {
    return value <= 1;
}

// The heap and its sequences for the length of an operation.
class Opened {
public:
    explicit Opened(OperationContext& context) noexcept
        : context_(context),
          heap_(context.space().segment(),
                context.space().slot_of(context.process()),
                context.hazards()),
          sequences_(heap_, context.thread()) {}

    [[nodiscard]] NodeSequences& sequences() noexcept { return sequences_; }

    // Finds the sequence. If it fails, code() is the reason.
    [[nodiscard]] bool find(const SequenceName& name) noexcept {
        number_ = sequence_at(context_.space(), context_.process(), name.address);
        if (number_ != 0 && sequences_->is_one(number_, name.kind)) return true;
        code_ = Code::stale;
        return false;
    }

    [[nodiscard]] BlockNumber number() const noexcept { return number_; }

    // The memory of a stage; empty, with code(): it is no block with room for the bytes, or not on
    // loan.
    [[nodiscard]] std::span<char> stage(const LentBlock& lent, std::uint64_t bytes = 1) noexcept {
        const heap::Offset offset =
            offset_in_heap(context_.space(), context_.process(), lent.address);
        if (offset != heap::no_block) stage_.emplace(heap_, offset, lent.process);
        const std::uint64_t usable = stage_ && stage_->is_there() ? heap_.usable_bytes(offset) : 0;
        if (usable < bytes || bytes == 0) {
            code_ = Code::address;
            return {};
        }
        return {context_.space().segment().claimed(context_.space().slot_of(context_.process()),
                                                   node::Claim::heap_blocks) +
                    offset,
                usable};
    }

    // The memory for bytes that a caller wants: the stage, or the bytes behind the result's head;
    // empty as stage() says.
    [[nodiscard]] std::span<char> room(const LentBlock& lent, Result result) noexcept {
        if (lent.address != 0) return stage(lent);
        return {reinterpret_cast<char*>(result.data()) + sizeof(SequenceResult),
                sequence_inline_max};
    }

    [[nodiscard]] Ran refusal() const noexcept { return {code_, 0}; }

private:
    OperationContext& context_;
    NodeHeap heap_;
    NodeSequences sequences_;
    std::optional<NodeHeap::Borrowed> stage_;
    BlockNumber number_ = 0;
    Code code_ = Code::ok;
};

Ran told(Result result,
         SequenceEffect effect,
         const sequence::Portion& portion,
         std::uint64_t following = 0) noexcept {
    SequenceResult head;
    head.effect = effect;
    head.bytes = portion.bytes;
    head.there = portion.there;
    std::memcpy(result.data(), &head, sizeof head);
    return {Code::ok, static_cast<std::uint32_t>(sizeof head + following)};
}

// Whether the bytes of a change follow its request, or are staged.
bool has_bytes(Arguments arguments, const LentBlock& stage, std::uint64_t bytes) noexcept {
    return arguments.size() == (stage.address == 0 ? bytes : 0);
}

Ran run_make(OperationContext& context, Arguments arguments, Result result) noexcept {
    SequenceMake request;
    if (!take(arguments, request) || !arguments.empty() || !is_kind(request.kind)) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    BlockNumber made = 0;
    (void)opened.sequences().with_room([&] {
        made =
            opened.sequences()->make(request.kind, request.bytes, request.capacity, request.maker);
        return made != 0 ? SequenceEffect::done : SequenceEffect::no_room;
    });
    opened.sequences()->keep();
    const GlobalAddress address =
        made == 0 ? 0
                  : context.space().claimed_address(context.process(), node::Claim::heap_blocks) +
                        table::offset_of(made);
    std::memcpy(result.data(), &address, sizeof address);
    return {Code::ok, sizeof address};
}

Ran run_destroy(OperationContext& context, Arguments arguments, Result /*result*/) noexcept {
    SequenceName name;
    if (!take(arguments, name) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    if (!opened.find(name) || !opened.sequences().destroy(opened.number(), name.kind)) {
        return {Code::stale, 0};
    }
    return {};
}

Ran run_push(OperationContext& context, Arguments arguments, Result result) noexcept {
    SequencePush request;
    if (!take(arguments, request) || !has_bytes(arguments, request.stage, request.bytes) ||
        !is_flag(request.is_front) ||
        (request.is_front != 0 && request.name.kind != SequenceKind::deque)) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    if (!opened.find(request.name)) return opened.refusal();
    const char* source = reinterpret_cast<const char*>(arguments.data());
    if (request.stage.address != 0) source = opened.stage(request.stage, request.bytes).data();
    if (source == nullptr && request.stage.address != 0) return opened.refusal();
    std::uint64_t index = 0;
    const SequenceEffect effect = opened.sequences().with_room([&] {
        return opened.sequences()->push(
            opened.number(), request.is_front != 0 ? ContentEnd::front : ContentEnd::back, source,
            request.bytes, index);
    });
    return told(result, effect, {index, 0});
}

Ran run_pop(OperationContext& context, Arguments arguments, Result result) noexcept {
    SequencePop request;
    if (!take(arguments, request) || !arguments.empty() || !is_flag(request.is_front) ||
        !is_flag(request.is_wanted) ||
        (request.is_front != 0 && request.name.kind != SequenceKind::deque)) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    if (!opened.find(request.name)) return opened.refusal();
    sequence::Removal removal{request.is_front != 0 ? ContentEnd::front : ContentEnd::back, nullptr,
                              request.bytes};
    if (request.is_wanted != 0) {
        const std::span<char> room = opened.room(request.stage, result);
        if (room.empty()) return opened.refusal();
        removal.target = room.data();
        removal.room_bytes = room.size();
    }
    sequence::Portion portion;
    const SequenceEffect effect = opened.sequences().with_room(
        [&] { return opened.sequences()->pop(opened.number(), removal, portion); });
    if (effect != SequenceEffect::done) portion = {};
    const bool is_inline = request.is_wanted != 0 && request.stage.address == 0;
    return told(result, effect, portion, is_inline ? portion.bytes : 0);
}

Ran run_read(OperationContext& context, Arguments arguments, Result result) noexcept {
    SequenceRead request;
    if (!take(arguments, request) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    if (!opened.find(request.name)) return opened.refusal();
    const std::span<char> room = opened.room(request.stage, result);
    if (room.empty()) return opened.refusal();
    sequence::Portion portion;
    const SequenceEffect effect =
        opened.sequences()->read(opened.number(), request.index, room.data(),
                                 std::min<std::uint64_t>(request.bytes, room.size()), portion);
    if (effect != SequenceEffect::done) portion = {};
    return told(result, effect, portion, request.stage.address == 0 ? portion.bytes : 0);
}

Ran run_splice(OperationContext& context, Arguments arguments, Result result) noexcept {
    SequenceSplice request;
    if (!take(arguments, request) || !has_bytes(arguments, request.stage, request.added) ||
        !is_flag(request.must_fit) || !is_flag(request.may_shrink)) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    if (!opened.find(request.name)) return opened.refusal();
    sequence::Splice splice;
    splice.at = request.at;
    splice.removed = request.removed;
    splice.added = request.added;
    splice.capacity_least = request.capacity_least;
    splice.must_fit = request.must_fit != 0;
    splice.may_shrink = request.may_shrink != 0;
    splice.source = reinterpret_cast<const char*>(arguments.data());
    if (request.stage.address != 0) {
        splice.source = opened.stage(request.stage, request.added).data();
        if (splice.source == nullptr) return opened.refusal();
    }
    std::uint64_t before = 0;
    const SequenceEffect effect = opened.sequences().with_room(
        [&] { return opened.sequences()->splice(opened.number(), splice, before); });
    return told(result, effect, {before, 0});
}

Ran run_tell(OperationContext& context, Arguments arguments, Result result) noexcept {
    SequenceTell request;
    if (!take(arguments, request) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    if (!opened.find(request.name)) return opened.refusal();
    sequence::SequenceLayout layout;
    if (opened.sequences()->layout(opened.number(), request.index, request.bytes, layout) !=
        SequenceEffect::done) {
        return {Code::system, 0};
    }
    const GlobalAddress start =
        context.space().claimed_address(context.process(), node::Claim::heap_blocks);
    SequenceTold told;
    told.bytes = layout.bytes;
    told.capacity = layout.capacity;
    for (std::size_t i = 0; i < layout.pieces.size(); ++i) {
        const sequence::ContentPiece& piece = layout.pieces[i];
        told.addresses[i] = piece.bytes != 0 ? start + piece.place : 0;
        told.pieces[i] = piece.bytes;
    }
    std::memcpy(result.data(), &told, sizeof told);
    return {Code::ok, sizeof told};
}

std::string places_of_sequence(Arguments arguments) {
    GlobalAddress address = 0;
    if (!take(arguments, address)) return "no vector or deque";
    return "the vector or deque is " + base::hex(address);
}

}  // namespace

}  // namespace on_sequences

table::BlockNumber sequence_at(const local::Space& space,
                               std::uint32_t process,
                               memory::GlobalAddress address) noexcept {
    const heap::Offset offset = offset_in_heap(space, process, address);
    const std::uint64_t heap_bytes = space.segment().shape().heap_bytes;
    if (offset == heap::no_block || offset % sequence::line_bytes != 0 ||
        heap_bytes - offset < sizeof(sequence::SequenceHead<std::atomic>)) {
        return 0;
    }
    return table::number_of(offset);
}

const std::array<local::NumberedOperation, sequence_operation_count>&
sequence_operations() noexcept {
    constexpr std::uint32_t most = memory::invoke_bytes_max;
    constexpr std::uint32_t told_bytes = sizeof(SequenceResult);
    static constexpr std::array<local::NumberedOperation, sequence_operation_count> rows{{
        {sequence_make_number, "making a vector or deque", sizeof(SequenceMake),
         sizeof(memory::GlobalAddress), on_sequences::run_make},
        {sequence_destroy_number, "destroying a vector or deque", sizeof(SequenceName), 0,
         on_sequences::run_destroy, on_sequences::places_of_sequence},
        {sequence_push_number, "a push", most, told_bytes, on_sequences::run_push,
         on_sequences::places_of_sequence},
        {sequence_pop_number, "a pop", sizeof(SequencePop), most, on_sequences::run_pop,
         on_sequences::places_of_sequence},
        {sequence_read_number, "a read", sizeof(SequenceRead), most, on_sequences::run_read,
         on_sequences::places_of_sequence},
        {sequence_splice_number, "a change of a vector or deque", most, told_bytes,
         on_sequences::run_splice, on_sequences::places_of_sequence},
        {sequence_tell_number, "a look at a vector or deque", sizeof(SequenceTell),
         sizeof(SequenceTold), on_sequences::run_tell, on_sequences::places_of_sequence},
    }};
    return rows;
}

}  // namespace acp::allocator
