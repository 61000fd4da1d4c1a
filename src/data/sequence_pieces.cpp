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

// Runs an operation for each piece of the bytes from `first` on, several in flight at once. Returns
// a result that is not done, or the one with the greatest number.
//   place(request, at, bytes)  names the piece in its request
template <typename Operation, typename Place>
Result<SequenceResult> SequencePieces::run(const typename Operation::Input& all,
                                           std::uint64_t first,
                                           std::uint64_t bytes,
                                           const Place& place) const {
    constexpr std::size_t in_flight = 4;
    auto owner = calls_.allocator().owner_of(all.name.address);
    if (!owner.is_ok()) return std::move(owner).failure();
    SequenceResult most;
    for (std::uint64_t done = first; done < bytes;) {
        std::array<SequenceResult, in_flight> results{};
        std::array<typename Operation::Input, in_flight> requests;
        Asks asks(calls_.gma());
        for (std::size_t i = 0; i < in_flight && done < bytes; ++i) {
            const std::uint64_t piece = std::min(allocator::copied_bytes_max, bytes - done);
            requests[i] = all;
            place(requests[i], done, piece);
            done += piece;
            asks.add(RemoteCall<Operation>::request(owner.value(), requests[i], {}, results[i]));
        }
        if (auto status = asks.wait(); !status.is_ok()) {
            return status.code() == Code::stale ? calls_.none_there(all.name) : std::move(status);
        }
        for (const SequenceResult& result : results) {
            if (result.effect != SequenceEffect::done) return result;
            if (result.bytes > most.bytes) most = result;
        }
    }
    return most;
}

SequencePieces::Changed SequencePieces::splice(const SequenceName& name,
                                               const sequence::Splice& splice) const {
    using Body = sequence::Body<std::atomic>;
    auto told = calls_.tell(name, 0, 0);
    if (!told.is_ok()) return std::move(told).failure();
    const SequenceTold& now = told.value();
    if (splice.must_fit && (splice.at > now.bytes || splice.removed > now.bytes - splice.at))
        return calls_.outcome(name, SequenceEffect::outside, now.bytes);
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
        const auto place = [&](allocator::ContentToCopy& to, std::uint64_t done, std::uint64_t n) {
            to.stage = stage.lent();
            to.index += done;
            to.at += done;
            to.bytes = n;
        };
        auto copied = run<allocator::CopyContent>(part, 0, part.bytes, place);
        if (!copied.is_ok()) return std::move(copied).failure();
        if (copied.value().effect == SequenceEffect::damaged) return SequenceCalls::damage();
        if (copied.value().effect != SequenceEffect::done) return std::optional<std::uint64_t>();
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

// Pushes bytes that are staged. The first piece begins the push, and the last one to arrive commits
// it. Returns no value if the content has changed or another push has begun.
SequencePieces::Changed SequencePieces::push_version(const allocator::PieceToPush& all) const {
    allocator::PieceToPush first = all;
    first.bytes = std::min(allocator::copied_bytes_max, all.total);
    auto begun = calls_.run_when_free<allocator::WritePiece>(first);
    if (!begun.is_ok()) return std::move(begun).failure();
    SequenceResult result = begun.value().output;
    if (result.effect == SequenceEffect::held) return calls_.outcome(all.name, result.effect, 0);
    if (result.effect == SequenceEffect::done && first.bytes < all.total) {
        auto others = run<allocator::WritePiece>(
            all, first.bytes, all.total,
            [](allocator::PieceToPush& piece, std::uint64_t done, std::uint64_t bytes) {
                piece.at = done;
                piece.bytes = bytes;
            });
        if (!others.is_ok()) return std::move(others).failure();
        result = others.value();
    }
    if (result.effect == SequenceEffect::damaged) return SequenceCalls::damage();
    if (result.effect != SequenceEffect::done || result.bytes != all.total)
        return std::optional<std::uint64_t>();
    return std::optional(result.there);
}

Result<std::uint64_t> SequencePieces::push(const SequenceName& name,
                                           ContentEnd end,
                                           const char* source,
                                           std::uint64_t bytes) const {
    const bool is_front = end == ContentEnd::front;
    sequence::Splice growth;
    growth.at = is_front ? 0 : ~std::uint64_t{0};
    growth.source = source;
    growth.added = bytes;
    TransitBlock stage(calls_);
    for (std::uint32_t i = 0; i <= attempts_max; ++i) {
        auto told = calls_.tell(name, 0, 0);
        if (!told.is_ok()) return std::move(told).failure();
        const bool has_room = bytes <= told.value().capacity - told.value().bytes;
        const bool is_last = i == attempts_max;
        if ((has_room || is_last) && stage.lent().address == 0) {
            auto status = stage.borrow(name, bytes);
            if (status.is_ok()) status = stage.put(source, bytes);
            if (!status.is_ok()) return status;
        }
        if (is_last) break;
        // Where there is no room the bytes are put into the new body, not into a stage.
        auto pushed = has_room ? push_version({name, is_front ? 1U : 0U, told.value().version,
                                               stage.lent(), bytes, 0, 0})
                               : splice(name, growth);
        if (!pushed.is_ok()) return std::move(pushed).failure();
        if (pushed.value()) return is_front ? 0 : *pushed.value();
    }
    allocator::SequencePush request{name, is_front ? 1U : 0U, stage.lent(), bytes};
    request.name.may_be_long = 1;
    auto pushed = calls_.run_when_free<allocator::PushBytes>(request);
    if (!pushed.is_ok()) return std::move(pushed).failure();
    const SequenceResult& result = pushed.value().output;
    if (auto status = calls_.outcome(name, result.effect, bytes); !status.is_ok()) return status;
    return result.bytes;
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
