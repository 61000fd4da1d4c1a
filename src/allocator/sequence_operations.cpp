// SPDX-License-Identifier: BSD-3-Clause
// The checks of requests, and their execution on a vector or deque.
#include "allocator/sequence_operations.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/format.hpp"

namespace acp::allocator {

using base::Code;
using memory::GlobalAddress;
using sequence::ContentEnd;
using sequence::SequenceEffect;
using sequence::SequenceKind;
using table::BlockNumber;

namespace {

bool is_kind(SequenceKind kind) noexcept {
    return kind == SequenceKind::vector || kind == SequenceKind::deque;
}

bool is_flag(std::uint64_t value) noexcept {
    return value <= 1;
}

// Only a deque has two ends.
bool is_end(std::uint64_t is_front, SequenceKind kind) noexcept {
    return is_front == 0 || (is_front == 1 && kind == SequenceKind::deque);
}

ContentEnd end_of(std::uint64_t is_front) noexcept {
    return is_front != 0 ? ContentEnd::front : ContentEnd::back;
}

// Whether the bytes of a change are staged, or all of them are the tail.
bool has_bytes(local::Bytes tail, const LentBlock& stage, std::uint64_t bytes) noexcept {
    return tail.size() == (stage.address == 0 ? bytes : 0);
}

// The bytes of a change; nullopt: the stage does not have them.
std::optional<const char*> source_of(OwnedSequences& owner,
                                     local::Bytes tail,
                                     const LentBlock& stage,
                                     std::uint64_t bytes) noexcept {
    if (stage.address == 0) return reinterpret_cast<const char*>(tail.data());
    const std::span<char> staged = owner.stage(stage, bytes);
    if (staged.empty()) return std::nullopt;
    return staged.data();
}

// Where the bytes go that a caller wants.
struct Room {
    std::span<char> memory;
    bool is_tail = false;
};

// nullopt: the stage is none.
std::optional<Room> room_for(OwnedSequences& owner,
                             const LentBlock& stage,
                             const local::ResultTail& tail) noexcept {
    if (stage.address == 0) {
        return Room{{reinterpret_cast<char*>(tail.room().data()), tail.room().size()}, true};
    }
    const std::span<char> staged = owner.stage(stage);
    if (staged.empty()) return std::nullopt;
    return Room{staged, false};
}

// Writes the result of a call that has written `portion.bytes` bytes into the room.
void note(SequenceEffect effect,
          const sequence::Portion& portion,
          bool is_in_tail,
          local::OperationReply<SequenceResult>& reply) noexcept {
    reply->effect = effect;
    if (effect != SequenceEffect::done) return;
    reply->bytes = portion.bytes;
    reply->there = portion.there;
    if (is_in_tail) reply.tail.advance(portion.bytes);
}

}  // namespace

BlockNumber sequence_at(const local::Space& space,
                        std::uint32_t process,
                        GlobalAddress address) noexcept {
    const heap::Offset offset = offset_in_heap(space, process, address);
    const std::uint64_t heap_bytes = space.segment().shape().heap_bytes;
    if (offset == heap::no_block || offset % sequence::line_bytes != 0 ||
        heap_bytes - offset < sizeof(sequence::SequenceHead<std::atomic>)) {
        return 0;
    }
    return table::number_of(offset);
}

std::string sequence_named(GlobalAddress address) {
    return "the vector or deque is " + base::hex(address);
}

BlockNumber OwnedSequences::find(const SequenceName& name) noexcept {
    if (name.may_be_long != 0) sequences_->unbound();
    const BlockNumber found = sequence_at(space(), process(), name.address);
    return found != 0 && sequences_->is_one(found, name.kind) ? found : 0;
}

std::span<char> OwnedSequences::stage(const LentBlock& lent, std::uint64_t bytes) noexcept {
    const heap::Offset offset = offset_of(lent.address);
    if (offset != heap::no_block) stage_.emplace(heap(), offset, lent.process);
    const std::uint64_t usable = stage_ && stage_->is_there() ? heap().usable_bytes(offset) : 0;
    if (usable < bytes || bytes == 0) return {};
    return {memory_of(offset), usable};
}

SequenceEffect OwnedSequences::adopt(BlockNumber sequence,
                                     const LentBlock& lent,
                                     sequence::NewBody body) noexcept {
    const heap::Offset block = offset_of(lent.address);
    body.block = table::number_of(block);
    heap().own(block);
    const SequenceEffect effect = sequences_->body_replacer().adopt(sequence, body);
    if (effect == SequenceEffect::done) {
        stage_->give_away();
    } else {
        heap().disown(block);
    }
    return effect;
}

bool MakeSequence::check_fields(const Call& call) noexcept {
    return is_kind(call->kind) && call->bytes <= made_bytes_max;
}

Code MakeSequence::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    BlockNumber made = 0;
    (void)owner.sequences().with_room([&] {
        made = owner.sequences()->make(call->kind, call->bytes, call->capacity, call->maker);
        return made != 0 ? SequenceEffect::done : SequenceEffect::no_room;
    });
    owner.sequences()->keep();
    if (made == 0) return Code::ok;
    reply->address = owner.address_of(table::offset_of(made));
    if (owner.heap().is_lent(table::offset_of(made))) reply->maker = call->maker;
    return Code::ok;
}

bool ExtendSequence::check_fields(const Call& call) noexcept {
    return is_kind(call->name.kind);
}

Code ExtendSequence::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    const BlockNumber made = sequence_at(owner.space(), owner.process(), call->name.address);
    if (made == 0) return Code::stale;
    // Recovery of the maker does not free the sequence before the end of this operation.
    const NodeHeap::Borrowed loan(owner.heap(), table::offset_of(made), call->maker,
                                  heap::Lent::container);
    if (!loan.is_there()) return Code::stale;
    reply->effect =
        owner.sequences()->extend(made, call->name.kind, call->maker, call->bytes, reply->there);
    return Code::ok;
}

std::string ExtendSequence::places_of(const Input& input) {
    return sequence_named(input.name.address);
}

Code DestroySequence::on(Owner& owner,
                         Block sequence,
                         const Call& call,
                         Reply& /*reply*/) noexcept {
    if (!owner.sequences().destroy(sequence, call->name.kind)) return Code::stale;
    return Code::ok;
}

bool PushBytes::check_fields(const Call& call) noexcept {
    return has_bytes(call.tail, call->stage, call->bytes) &&
           is_end(call->is_front, call->name.kind);
}

Code PushBytes::on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept {
    const auto source = source_of(owner, call.tail, call->stage, call->bytes);
    if (!source) return Code::address;
    std::uint64_t index = 0;
    const SequenceEffect effect = owner.sequences().with_room([&] {
        return owner.sequences()->push(sequence, end_of(call->is_front), *source, call->bytes,
                                       index);
    });
    note(effect, {index, 0}, false, reply);
    return Code::ok;
}

bool WritePiece::check_fields(const Call& call) noexcept {
    return is_end(call->is_front, call->name.kind) && call->total <= sequence::bytes_most &&
           call->bytes >= 1 && call->bytes <= std::min(call->total, copied_bytes_max) &&
           call->at <= call->total - call->bytes;
}

Code WritePiece::on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept {
    const std::span<char> staged = owner.stage(call->stage, call->total);
    if (staged.empty()) return Code::address;
    sequence::PushPiece piece;
    piece.end = end_of(call->is_front);
    piece.push = call->stage.address;
    piece.version = call->version;
    piece.total = call->total;
    piece.at = call->at;
    piece.source = staged.data() + call->at;
    piece.bytes = call->bytes;
    piece.replaces_another = call->name.may_be_long != 0;
    sequence::Portion portion;
    const SequenceEffect effect = owner.sequences().with_room(
        [&] { return owner.sequences()->push_in_pieces().write(sequence, piece, portion); });
    note(effect, portion, false, reply);
    return Code::ok;
}

bool PopBytes::check_fields(const Call& call) noexcept {
    return is_flag(call->is_wanted) && is_end(call->is_front, call->name.kind);
}

Code PopBytes::on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept {
    sequence::Removal removal{
        .end = end_of(call->is_front), .bytes = call->bytes, .version = call->version};
    bool is_in_tail = false;
    if (call->is_wanted != 0) {
        const auto room = room_for(owner, call->stage, reply.tail);
        if (!room) return Code::address;
        removal.target = room->memory.data();
        removal.room_bytes = room->memory.size();
        is_in_tail = room->is_tail;
    }
    sequence::Portion portion;
    const SequenceEffect effect = owner.sequences().with_room(
        [&] { return owner.sequences()->pop(sequence, removal, portion); });
    note(effect, portion, is_in_tail, reply);
    return Code::ok;
}

Code ReadBytes::on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept {
    const auto room = room_for(owner, call->stage, reply.tail);
    if (!room) return Code::address;
    sequence::Portion portion;
    const SequenceEffect effect =
        owner.sequences()->read(sequence, call->index, room->memory.data(),
                                std::min<std::uint64_t>(call->bytes, room->memory.size()), portion);
    note(effect, portion, room->is_tail, reply);
    return Code::ok;
}

bool SpliceBytes::check_fields(const Call& call) noexcept {
    return has_bytes(call.tail, call->stage, call->added) && is_flag(call->must_fit) &&
           is_flag(call->may_shrink);
}

Code SpliceBytes::on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept {
    const auto source = source_of(owner, call.tail, call->stage, call->added);
    if (!source) return Code::address;
    sequence::Splice splice;
    splice.at = call->at;
    splice.removed = call->removed;
    splice.source = *source;
    splice.added = call->added;
    splice.capacity_least = call->capacity_least;
    splice.must_fit = call->must_fit != 0;
    splice.may_shrink = call->may_shrink != 0;
    std::uint64_t before = 0;
    const SequenceEffect effect = owner.sequences().with_room(
        [&] { return owner.sequences()->splice(sequence, splice, before); });
    note(effect, {before, 0}, false, reply);
    if (effect == SequenceEffect::outside) reply->bytes = before;
    return Code::ok;
}

Code TellSequence::on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept {
    sequence::SequenceLayout layout;
    if (owner.sequences()->layout(sequence, call->index, call->bytes, layout) !=
        SequenceEffect::done) {
        return Code::system;
    }
    reply->bytes = layout.bytes;
    reply->capacity = layout.capacity;
    reply->version = layout.version;
    for (std::size_t i = 0; i < layout.pieces.size(); ++i) {
        const sequence::ContentPiece& piece = layout.pieces[i];
        reply->addresses[i] = piece.bytes != 0 ? owner.address_of(piece.place) : 0;
        reply->pieces[i] = piece.bytes;
    }
    return Code::ok;
}

bool CopyContent::check_fields(const Call& call) noexcept {
    return call->bytes >= 1 && call->bytes <= copied_bytes_max &&
           call->at <= ~std::uint64_t{0} - copied_bytes_max;
}

Code CopyContent::on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept {
    const std::span<char> staged = owner.stage(call->stage, call->at + call->bytes);
    if (staged.empty()) return Code::address;
    reply->effect = owner.sequences()->body_replacer().copy(sequence, call->version, call->index,
                                                            staged.data() + call->at, call->bytes);
    return Code::ok;
}

bool AdoptBody::check_fields(const Call& call) noexcept {
    return call->capacity <= sequence::bytes_most && call->bytes <= call->capacity &&
           call->capacity == sequence::rounded_capacity(call->capacity);
}

Code AdoptBody::on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept {
    using Body = sequence::Body<std::atomic>;
    if (owner.stage(call->stage, Body::block_bytes(call->capacity)).empty()) return Code::address;
    reply->effect =
        owner.adopt(sequence, call->stage, {0, call->bytes, call->capacity, call->version});
    return Code::ok;
}

}  // namespace acp::allocator
