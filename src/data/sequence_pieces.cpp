// SPDX-License-Identifier: BSD-3-Clause
// Copies of one version of a content, and the operations that succeed only on that version.
#include "data/sequence_pieces.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "data/ask.hpp"

namespace acp::data {

using allocator::SequenceResult;
using allocator::SequenceTold;
using base::Code;
using base::Result;
using sequence::ContentEnd;
using sequence::Portion;
using sequence::SequenceEffect;

// Copies content of a version into a stage, by several operations in flight at once. Returns done,
// or why not: changed, damaged, outside.
Result<SequenceEffect> SequencePieces::copy(const TransitBlock& stage,
                                            const allocator::ContentToCopy& all) const {
    constexpr std::size_t in_flight = 4;
    auto owner = calls_.allocator().owner_of(all.name.address);
    if (!owner.is_ok()) return std::move(owner).failure();
    for (std::uint64_t done = 0; done < all.bytes;) {
        std::array<SequenceResult, in_flight> results{};
        std::array<allocator::ContentToCopy, in_flight> requests;
        Asks asks(calls_.gma());
        for (std::size_t i = 0; i < in_flight && done < all.bytes; ++i) {
            requests[i] = all;
            requests[i].stage = stage.lent();
            requests[i].index += done;
            requests[i].at += done;
            requests[i].bytes = std::min(allocator::copied_bytes_max, all.bytes - done);
            done += requests[i].bytes;
            asks.add(RemoteCall<allocator::CopyContent>::request(owner.value(), requests[i], {},
                                                                 results[i]));
        }
        if (auto status = asks.wait(); !status.is_ok()) {
            return status.code() == Code::stale ? calls_.none_there(all.name) : std::move(status);
        }
        for (const SequenceResult& result : results) {
            if (result.effect != SequenceEffect::done) return result.effect;
        }
    }
    return SequenceEffect::done;
}

SequencePieces::Changed SequencePieces::splice(const SequenceName& name,
                                               const sequence::Splice& splice) const {
    using Body = sequence::Body<std::atomic>;
    auto told = calls_.tell(name, 0, 0);
    if (!told.is_ok()) return std::move(told).failure();
    const SequenceTold& now = told.value();
    if (splice.must_fit && (splice.at > now.bytes || splice.removed > now.bytes - splice.at))
        return calls_.outcome(name, SequenceEffect::outside, 0);
    const std::uint64_t at = std::min(splice.at, now.bytes);
    const std::uint64_t behind = at + std::min(splice.removed, now.bytes - at);
    const std::uint64_t wanted = std::max(splice.added, splice.capacity_least);
    if (wanted > sequence::bytes_most - std::min(now.bytes, sequence::bytes_most))
        return calls_.outcome(name, SequenceEffect::no_room, wanted);
    const std::uint64_t bytes = at + splice.added + now.bytes - behind;
    const std::uint64_t needed = sequence::capacity_needed(bytes, splice);
    allocator::BodyToAdopt body{
        name, now.version, {}, bytes, sequence::capacity_wanted(now.capacity, bytes, splice)};
    TransitBlock stage(calls_);
    auto status = stage.borrow(name, Body::block_bytes(body.capacity));
    if (status.code() == Code::memory && needed < body.capacity) {
        body.capacity = needed;
        status = stage.borrow(name, Body::block_bytes(body.capacity));
    }
    const std::uint64_t start = Body::head_bytes;
    if (status.is_ok() && splice.added != 0)
        status = stage.put(splice.source, splice.added, start + at);
    if (!status.is_ok()) return status;
    for (const allocator::ContentToCopy& part :
         {allocator::ContentToCopy{name, now.version, 0, at, {}, start},
          allocator::ContentToCopy{
              name, now.version, behind, now.bytes - behind, {}, start + at + splice.added}}) {
        auto copied = copy(stage, part);
        if (!copied.is_ok()) return std::move(copied).failure();
        if (copied.value() == SequenceEffect::damaged) return SequenceCalls::damage();
        if (copied.value() != SequenceEffect::done) return std::optional<std::uint64_t>();
    }
    body.stage = stage.lent();
    auto adopted = calls_.run_when_free<allocator::AdoptBody>(body);
    if (!adopted.is_ok()) return std::move(adopted).failure();
    const SequenceEffect effect = adopted.value().output.effect;
    if (effect == SequenceEffect::changed) return std::optional<std::uint64_t>();
    if (effect == SequenceEffect::done) stage.give_away();
    if (status = calls_.outcome(name, effect, wanted); !status.is_ok()) return status;
    return std::optional(now.bytes);
}

// Copies from where the content lies. If other threads have changed it during the copies, the
// content has another version afterwards.
Result<SequencePieces::VersionRead> SequencePieces::read_version(const SequenceName& name,
                                                                 std::uint64_t index,
                                                                 char* target,
                                                                 std::uint64_t bytes) const {
    auto told = calls_.tell(name, index, bytes);
    if (!told.is_ok()) return std::move(told).failure();
    const SequenceTold& seen = told.value();
    VersionRead read{{0, seen.bytes}, seen.version};
    for (std::size_t i = 0; i < seen.pieces.size(); ++i) {
        if (seen.pieces[i] == 0) continue;
        auto status =
            data::get(calls_.gma(), target + read.portion.bytes, seen.addresses[i], seen.pieces[i]);
        if (!status.is_ok()) return status;
        read.portion.bytes += seen.pieces[i];
    }
    return read;
}

SequencePieces::Copied SequencePieces::read(const SequenceName& name,
                                            std::uint64_t index,
                                            char* target,
                                            std::uint64_t bytes) const {
    auto read = read_version(name, index, target, bytes);
    if (!read.is_ok()) return std::move(read).failure();
    auto then = calls_.tell(name, 0, 0);
    if (!then.is_ok()) return std::move(then).failure();
    if (then.value().version != read.value().version) return std::optional<Portion>();
    return std::optional(read.value().portion);
}

SequencePieces::Copied SequencePieces::pop(const SequenceName& name,
                                           ContentEnd end,
                                           char* target,
                                           std::uint64_t bytes) const {
    auto told = calls_.tell(name, 0, 0);
    if (!told.is_ok()) return std::move(told).failure();
    const std::uint64_t there = told.value().bytes;
    const std::uint64_t removed = std::min(bytes, there);
    auto read = read_version(name, end == ContentEnd::back ? there - removed : 0, target, removed);
    if (!read.is_ok()) return std::move(read).failure();
    if (read.value().version != told.value().version) return std::optional<Portion>();
    const allocator::SequencePop request{
        name, end == ContentEnd::front ? 1U : 0U, 0, {}, removed, told.value().version};
    auto popped = calls_.run_when_free<allocator::PopBytes>(request);
    if (!popped.is_ok()) return std::move(popped).failure();
    const SequenceEffect effect = popped.value().output.effect;
    if (effect == SequenceEffect::changed) return std::optional<Portion>();
    if (auto status = calls_.outcome(name, effect, 0); !status.is_ok()) return status;
    return std::optional(read.value().portion);
}

}  // namespace acp::data
