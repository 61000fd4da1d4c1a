// SPDX-License-Identifier: BSD-3-Clause
// The operations, at once or in pieces.
#include "data/sequence.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace acp::data {

using allocator::SequenceResult;
using base::Code;
using base::Result;
using base::Status;
using sequence::ContentEnd;
using sequence::Portion;
using sequence::SequenceEffect;
using sequence::SequenceKind;

// Changes a sequence by bytes, which are staged if they are for another node and do not fit into a
// message. Returns the number in the result.
//   wanted  bytes for which there may be no room
template <typename Operation>
Sequences::Changed Sequences::change(typename Operation::Input input,
                                     const char* source,
                                     std::uint64_t bytes,
                                     std::uint64_t wanted) {
    local::Bytes tail = std::as_bytes(std::span(source, bytes));
    TransitBlock stage(calls_);
    if (bytes > allocator::sequence_inline_max) {
        auto where = calls_.is_here(input.name);
        if (!where.is_ok()) return std::move(where).failure();
        if (!where.value()) {
            auto status = stage.borrow(input.name, bytes);
            if (status.is_ok()) status = stage.put(source, bytes);
            if (!status.is_ok()) return status;
            input.stage = stage.lent();
            tail = {};
        }
    }
    auto returned = calls_.run_when_free<Operation>(input, tail);
    if (!returned.is_ok()) return std::move(returned).failure();
    const SequenceResult& result = returned.value().output;
    if (result.effect == SequenceEffect::too_long) return std::optional<std::uint64_t>();
    const bool is_outside = result.effect == SequenceEffect::outside;
    auto status = calls_.outcome(input.name, result.effect, is_outside ? result.bytes : wanted);
    if (!status.is_ok()) return status;
    return std::optional(result.bytes);
}

// Fetches bytes from an index into the target; if they do not fit into a message of another node,
// again by a stage that is somewhat larger than needed.
template <typename Operation>
Result<Portion> Sequences::fetch(typename Operation::Input input,
                                 std::uint64_t index,
                                 char* target) {
    for (std::uint64_t staged = 0;;) {
        TransitBlock stage(calls_);
        std::span<std::byte> room = std::as_writable_bytes(std::span(target, input.bytes));
        if (staged != 0) {
            auto status = stage.borrow(input.name, staged);
            if (!status.is_ok()) return status;
            input.stage = stage.lent();
            room = {};
        }
        auto returned = calls_.run_when_free<Operation>(input, {}, room);
        if (!returned.is_ok()) return std::move(returned).failure();
        const SequenceResult& result = returned.value().output;
        if (auto status = calls_.outcome(input.name, result.effect, input.bytes); !status.is_ok())
            return status;
        const std::uint64_t wanted =
            std::min(input.bytes, result.there - std::min(result.there, index));
        if (result.bytes < wanted) {
            staged = std::min(input.bytes, wanted + wanted / 8);
            continue;
        }
        if (staged != 0 && result.bytes != 0) {
            if (auto status = stage.get(target, result.bytes); !status.is_ok()) return status;
        }
        return Portion{result.bytes, result.there};
    }
}

Result<GlobalAddress> Sequences::make(std::uint32_t process,
                                      SequenceKind kind,
                                      std::uint64_t bytes,
                                      std::uint64_t capacity) {
    Allocator& allocator = calls_.allocator();
    const bool is_short = bytes <= allocator::made_bytes_max;
    auto made = RemoteCall<allocator::MakeSequence>(calls_.gma(), allocator)
                    .run(process, {kind, is_short ? bytes : 0, std::max(bytes, capacity),
                                   calls_.gma().space().process()});
    if (!made.is_ok()) return std::move(made).failure();
    const allocator::MadeSequence& there = made.value().output;
    if (there.address == 0) return allocator.no_room(process, std::max(bytes, capacity));
    if (!is_short) {
        auto status = extend(process, {{there.address, kind}, there.maker, bytes});
        if (!status.is_ok()) {
            (void)destroy({there.address, kind});
            return status;
        }
    }
    return there.address;
}

// Extends a sequence that this process has just made. If the process is killed before the end, or
// taken for dead, recovery destroys the sequence, as it does if the process dies later and before
// the first use.
Status Sequences::extend(std::uint32_t process, const allocator::SequenceToExtend& wish) {
    RemoteCall<allocator::ExtendSequence> call(calls_.gma(), calls_.allocator());
    for (std::uint64_t there = 0; there < wish.bytes;) {
        auto extended = call.run(process, wish);
        if (!extended.is_ok()) return std::move(extended).failure();
        const allocator::ExtendedSequence& now = extended.value().output;
        if (now.effect != SequenceEffect::done)
            return calls_.outcome(wish.name, now.effect, wish.bytes);
        there = now.there;
    }
    return {};
}

Status Sequences::destroy(const SequenceName& name) {
    auto destroyed = calls_.run<allocator::DestroySequence>({name});
    return destroyed.is_ok() ? Status() : std::move(destroyed).failure();
}

Result<std::uint64_t> Sequences::push(const SequenceName& name,
                                      ContentEnd end,
                                      const char* source,
                                      std::uint64_t bytes) {
    auto is_far = calls_.is_long_and_elsewhere(name, bytes);
    if (!is_far.is_ok()) return std::move(is_far).failure();
    if (is_far.value()) return pieces_.push(name, end, source, bytes);
    const bool is_front = end == ContentEnd::front;
    sequence::Splice growth;
    growth.at = is_front ? 0 : ~std::uint64_t{0};
    growth.source = source;
    growth.added = bytes;
    allocator::SequencePush request{name, is_front ? 1U : 0U, {}, bytes};
    for (std::uint32_t i = 1;; ++i) {
        auto pushed = change<allocator::PushBytes>(request, source, bytes, bytes);
        if (!pushed.is_ok()) return std::move(pushed).failure();
        if (pushed.value()) return *pushed.value();
        auto grown = pieces_.splice(name, growth);
        if (!grown.is_ok()) return std::move(grown).failure();
        if (grown.value()) return is_front ? 0 : *grown.value();
        if (i == SequencePieces::attempts_max) request.name.may_be_long = 1;
    }
}

Result<std::uint64_t> Sequences::pop(const SequenceName& name,
                                     ContentEnd end,
                                     char* target,
                                     std::uint64_t bytes) {
    allocator::SequencePop request{
        name, end == ContentEnd::front ? 1U : 0U, target != nullptr ? 1U : 0U, {}, bytes};
    if (target == nullptr) {
        auto removed = change<allocator::PopBytes>(request, nullptr, 0, bytes);
        if (!removed.is_ok()) return std::move(removed).failure();
        return removed.value().value_or(0);
    }
    auto is_far = calls_.is_long_and_elsewhere(name, bytes);
    if (!is_far.is_ok()) return std::move(is_far).failure();
    for (std::uint32_t i = 0; i < SequencePieces::attempts_max && is_far.value(); ++i) {
        auto portion = pieces_.pop(name, end, target, bytes);
        if (!portion.is_ok()) return std::move(portion).failure();
        if (portion.value()) return portion.value()->bytes;
    }
    request.name.may_be_long = is_far.value() ? 1 : 0;
    auto taken = fetch<allocator::PopBytes>(request, 0, target);
    if (!taken.is_ok()) return std::move(taken).failure();
    return taken.value().bytes;
}

Result<Portion> Sequences::read(const SequenceName& name,
                                std::uint64_t index,
                                char* target,
                                std::uint64_t bytes) {
    auto is_far = calls_.is_long_and_elsewhere(name, bytes);
    if (!is_far.is_ok()) return std::move(is_far).failure();
    for (std::uint32_t i = 0; i < SequencePieces::attempts_max && is_far.value(); ++i) {
        auto portion = pieces_.read(name, index, target, bytes);
        if (!portion.is_ok()) return std::move(portion).failure();
        if (portion.value()) return *portion.value();
    }
    allocator::SequenceRead request{name, index, {}, bytes};
    request.name.may_be_long = is_far.value() ? 1 : 0;
    return fetch<allocator::ReadBytes>(request, index, target);
}

Result<std::uint64_t> Sequences::splice(const SequenceName& name, const sequence::Splice& splice) {
    auto is_far = calls_.is_long_and_elsewhere(name, splice.added);
    if (!is_far.is_ok()) return std::move(is_far).failure();
    // Long bytes are put into the new body at once, not into a stage first.
    bool is_in_pieces = is_far.value();
    SequenceName named = name;
    for (std::uint32_t i = 0;;) {
        auto changed = is_in_pieces ? pieces_.splice(name, splice) : splice_at_once(named, splice);
        if (!changed.is_ok()) return std::move(changed).failure();
        if (changed.value()) return *changed.value();
        if (is_in_pieces && ++i == SequencePieces::attempts_max) named.may_be_long = 1;
        is_in_pieces = i < SequencePieces::attempts_max;
    }
}

Sequences::Changed Sequences::splice_at_once(const SequenceName& name,
                                             const sequence::Splice& splice) {
    const allocator::SequenceSplice request{name,
                                            splice.at,
                                            splice.removed,
                                            splice.added,
                                            splice.capacity_least,
                                            splice.must_fit ? 1U : 0U,
                                            splice.may_shrink ? 1U : 0U,
                                            {}};
    auto changed = change<allocator::SpliceBytes>(request, splice.source, splice.added,
                                                  std::max(splice.added, splice.capacity_least));
    if (changed.is_ok() || changed.failure().code() != Code::memory || !splice.must_fit)
        return changed;
    // Without room for the stage the request was not sent, so the range is checked here.
    auto told = tell(name, 0, 0);
    if (!told.is_ok()) return std::move(told).failure();
    const std::uint64_t there = told.value().bytes;
    if (splice.at <= there && splice.removed <= there - splice.at) return changed;
    return calls_.outcome(name, SequenceEffect::outside, there);
}

}  // namespace acp::data
