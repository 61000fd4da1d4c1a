// SPDX-License-Identifier: BSD-3-Clause
// Checks what a program adds.
#include "execution/pattern.hpp"

#include <string>
#include <utility>

namespace acp::execution {

using base::Code;
using base::Result;
using base::Status;

namespace {

Status full() {
    return {Code::limit, "a pattern has at most " + std::to_string(messages_max) + " messages"};
}

}  // namespace

Status Pattern::check(const char* name, const void* memory, std::uint64_t bytes) const {
    if (messages_.size() >= messages_max) return full();
    if (bytes >= message_bytes_end) {
        return {Code::argument, "size " + std::to_string(bytes) + " is not below 2^50"};
    }
    if (memory == nullptr && bytes != 0) {
        return {Code::argument,
                std::string(name) + " is NULL, and size is " + std::to_string(bytes)};
    }
    return {};
}

// Shifts wrap around at the end of the team.
Result<std::uint32_t> Pattern::member_at(int shift) const {
    const auto size = static_cast<std::int64_t>(members_.size());
    if (shift >= size || shift <= -size) {
        return Status(Code::argument, "shift " + std::to_string(shift) + " reaches no member of " +
                                          std::to_string(size) + ": it is between " +
                                          std::to_string(1 - size) + " and " +
                                          std::to_string(size - 1));
    }
    return static_cast<std::uint32_t>((members_.own() + size + shift) % size);
}

Status Pattern::add_send(int shift, const void* source, std::uint64_t bytes) {
    auto partner = member_at(shift);
    if (!partner.is_ok()) return std::move(partner).failure();
    if (auto status = check("source", source, bytes); !status.is_ok()) return status;
    messages_.push_back({PatternMessageKind::send, partner.value(), 0,
                         static_cast<char*>(const_cast<void*>(source)), bytes, nullptr});
    return {};
}

Status Pattern::add_receive(int shift, void* target, std::uint64_t bytes) {
    auto partner = member_at(shift);
    if (!partner.is_ok()) return std::move(partner).failure();
    if (auto status = check("target", target, bytes); !status.is_ok()) return status;
    messages_.push_back({PatternMessageKind::receive, partner.value(), 0,
                         static_cast<char*>(target), bytes, nullptr});
    return {};
}

Status Pattern::add_copy(const local::Space& space,
                         GlobalAddress target,
                         const void* source,
                         std::uint64_t bytes) {
    if (auto status = check("source", source, bytes); !status.is_ok()) return status;
    const std::uint64_t process = space.layout().process(target);
    const auto partner =
        space.layout().generation(target) == 0 || process >= space.segment().shape().procs
            ? std::nullopt
            : members_.rank_of(static_cast<std::uint32_t>(process));
    if (!partner.has_value()) {
        return {Code::address,
                "the target, " + local::Space::range_name(target, bytes) + ", is of no member"};
    }
    // Memory that is registered on another node is known there alone.
    local::Place place;
    const bool is_here = space.is_on_node(static_cast<std::uint32_t>(process));
    const Code code = is_here                             ? space.find(target, bytes, place)
                      : space.is_elsewhere(target, bytes) ? Code::ok
                                                          : Code::address;
    if (code != Code::ok) return Status(code, "the target is " + space.explain(target, bytes));
    messages_.push_back({PatternMessageKind::copy, *partner, target,
                         static_cast<char*>(const_cast<void*>(source)), bytes, nullptr});
    return {};
}

Status Pattern::add_halo(const exchange::GridShape& grid, void* array) {
    if (array == nullptr) return {Code::argument, "array is NULL"};
    auto halo = exchange::halo_of(grid, members_.own(), members_.size());
    if (!halo.is_ok()) return std::move(halo).failure();
    if (halo.value().size() > messages_max - messages_.size()) return full();
    std::vector<PatternMessage> added;
    for (const exchange::HaloMessage& one : halo.value()) {
        PatternMessage message;
        message.kind = one.is_sent ? PatternMessageKind::send : PatternMessageKind::receive;
        message.partner = one.member;
        message.memory = static_cast<char*>(array) + one.offset_bytes;
        message.bytes = one.block.bytes();
        if (!one.block.is_contiguous())
            message.block = std::make_shared<const exchange::StridedBlock>(one.block);
        added.push_back(std::move(message));
    }
    messages_.insert(messages_.end(), added.begin(), added.end());
    return {};
}

Status Pattern::add_neighbours(const void* source,
                               std::span<const NeighbourPiece> to,
                               void* target,
                               std::span<const NeighbourPiece> from) {
    const std::size_t before = messages_.size();
    const auto place = [](const void* buffer, const NeighbourPiece& piece) {
        return buffer == nullptr ? nullptr : static_cast<const char*>(buffer) + piece.offset_bytes;
    };
    const auto add_all = [](std::span<const NeighbourPiece> pieces, const auto& add) -> Status {
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            Status status = add(pieces[i]);
            if (!status.is_ok()) return std::move(status).within("neighbour " + std::to_string(i));
        }
        return {};
    };
    messages_.reserve(before + to.size() + from.size());
    Status status = add_all(to, [&](const NeighbourPiece& piece) {
        return add_send(piece.shift, place(source, piece), piece.bytes);
    });
    if (status.is_ok()) {
        status = add_all(from, [&](const NeighbourPiece& piece) {
            return add_receive(piece.shift, const_cast<char*>(place(target, piece)), piece.bytes);
        });
    }
    if (!status.is_ok()) messages_.resize(before);
    return status;
}

}  // namespace acp::execution
