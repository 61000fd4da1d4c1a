// SPDX-License-Identifier: BSD-3-Clause
// Grouping copies by granule and direction, and moving a group by one call.
#include "engine/attach_batch.hpp"

#include <bit>
#include <cstring>

#include "node/word_sleepers.hpp"

namespace acp::engine {

namespace {

constexpr std::uint64_t staging_bytes = 16 * batched_bytes_max;
static_assert(local::attach_batch_max == 64, "a bit each in move_all()");

}  // namespace

AttachBatch::AttachBatch(local::Space& space, local::Hazards& hazards, local::Attach& attach)
    : space_(space),
      hazards_(hazards),
      attach_(attach),
      staging_(std::make_unique_for_overwrite<char[]>(staging_bytes)) {}

bool AttachBatch::has_room(std::uint64_t bytes) {
    return !has_refused() && count_ < copies_.size() && staged_bytes_ + bytes <= staging_bytes &&
           ended_.make_room(count_ + 1);
}

bool AttachBatch::make_room(std::uint64_t bytes) {
    if (has_room(bytes)) return true;
    if (has_refused() || !ended_.make_room(count_ + 1)) return false;
    move_all();
    return has_room(bytes);
}

bool AttachBatch::put(GlobalAddress target, std::span<const std::byte> bytes, Ticket ticket) {
    if (!make_room(bytes.size())) return false;
    char* const kept = staging_.get() + staged_bytes_;
    std::memcpy(kept, bytes.data(), bytes.size());
    staged_bytes_ += (bytes.size() + 7) / 8 * 8;
    copies_[count_++] = {target, kept, static_cast<std::uint32_t>(bytes.size()), false, ticket};
    return true;
}

bool AttachBatch::get(GlobalAddress source, std::span<std::byte> into, Ticket ticket) {
    if (!make_room(0)) return false;
    copies_[count_++] = {source, reinterpret_cast<char*>(into.data()),
                         static_cast<std::uint32_t>(into.size()), true, ticket};
    return true;
}

void AttachBatch::move_all() noexcept {
    std::uint64_t pending = count_ == 64 ? ~0ULL : (1ULL << count_) - 1;
    while (pending != 0) move_alike(pending);
    count_ = 0;
    staged_bytes_ = 0;  // give_refused() hands refused copies on before new ones are staged
}

// The first pending copy and all pending ones of the same granule and direction.
void AttachBatch::move_alike(std::uint64_t& pending) {
    const Copy& first = copies_[static_cast<std::size_t>(std::countr_zero(pending))];
    const std::uint64_t granule = space_.layout().index(first.address);
    std::array<local::AttachCopy, local::attach_batch_max> moves;
    std::array<const Copy*, local::attach_batch_max> moved{};
    std::size_t count = 0;
    const Inside inside(hazards_, first.address, first.address);
    for (std::uint64_t rest = pending; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(rest));
        const Copy& copy = copies_[i];
        if (copy.is_read != first.is_read || space_.layout().index(copy.address) != granule) {
            continue;
        }
        pending &= ~(1ULL << i);
        local::AttachCopy& move = moves[count];
        local::Place& far = copy.is_read ? move.source : move.target;
        local::Place& near = copy.is_read ? move.target : move.source;
        const base::Code code = space_.find(copy.address, copy.bytes, far);
        if (code != base::Code::ok) {
            settle(copy, code);
            continue;
        }
        near.direct = copy.near;
        move.bytes = copy.bytes;
        moved[count++] = &copy;
    }
    attach_.run(std::span(moves).first(count));
    if (count != 0 && !first.is_read) {
        node::ring_word_sleepers(space_.segment(), moves[0].target.slot);
    }
    for (std::size_t i = 0; i < count; ++i) settle(*moved[i], moves[i].code);
}

}  // namespace acp::engine
