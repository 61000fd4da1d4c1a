// SPDX-License-Identifier: BSD-3-Clause
// The operations, their failures in words, and a stage for long bytes of another node.
#include "data/sequence.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/format.hpp"
#include "data/ask.hpp"
#include "data/kind_at.hpp"
#include "gma/deadline.hpp"
#include "os/cpu.hpp"

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

    // In the heap of the sequence.
    [[nodiscard]] Status borrow(const SequenceName& name, std::uint64_t bytes) {
        auto owner = allocator_.owner_of(name.address);
        if (!owner.is_ok()) return std::move(owner).failure();
        auto lent = allocator_.borrow(owner.value(), bytes);
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

Result<bool> Sequences::is_here(const SequenceName& name) {
    auto owner = allocator_.owner_of(name.address);
    if (!owner.is_ok()) return std::move(owner).failure();
    auto heap = allocator_.heap_of(owner.value());
    if (!heap.is_ok()) return std::move(heap).failure();
    return heap.value() != nullptr;
}

// Converts an effect to a status.   bytes  that the caller wanted room for
Status Sequences::outcome(const SequenceName& name, SequenceEffect effect, std::uint64_t bytes) {
    switch (effect) {
        case SequenceEffect::done:
            return {};
        case SequenceEffect::outside:
            return {Code::argument, "the range is not inside the content"};
        case SequenceEffect::damaged:
            return damage();
        case SequenceEffect::no_room:
        case SequenceEffect::held:
            break;
    }
    Status no_room = allocator_.no_room(
        static_cast<std::uint32_t>(gma_.space().layout().process(name.address)), bytes);
    if (effect == SequenceEffect::no_room) return no_room;
    return std::move(no_room).within(
        "a rank was stopped in a call on it, which others complete with a copy of its content");
}

// Runs an operation on the sequence that its input names. Errors: address, stale, system (its words were overwritten).
template <typename Operation>
Sequences::Returned<Operation> Sequences::run(const typename Operation::Input& input,
                                              local::Bytes tail,
                                              std::span<std::byte> room) {
    auto owner = allocator_.owner_of(input.name.address);
    if (!owner.is_ok()) return std::move(owner).failure();
    auto returned = RemoteCall<Operation>(gma_, allocator_).run(owner.value(), input, tail, room);
    if constexpr (requires { returned.value().output.has_more; }) {
        if (returned.is_ok() && returned.value().output.has_more != 0)
            allocator_.reclaim(owner.value());
    }
    if (returned.is_ok()) return returned;
    auto failure = std::move(returned).failure();
    if (failure.code() == Code::stale) return none_there(input.name);
    if (failure.code() == Code::system) return damage();
    return failure;
}

// Runs an operation again as long as a process holds the sequence that was stopped in a call, and the
// heap has no room for a copy. A process that waits for a CPU gets it in that time; the operation
// fails if the process stays stopped.
template <typename Operation>
Sequences::Returned<Operation> Sequences::run_when_not_held(const typename Operation::Input& input,
                                                            local::Bytes tail,
                                                            std::span<std::byte> room) {
    constexpr std::int64_t patience_ns = 1'000'000'000;
    const gma::Deadline deadline(patience_ns);
    for (;;) {
        auto returned = run<Operation>(input, tail, room);
        const bool is_held =
            returned.is_ok() && returned.value().output.effect == SequenceEffect::held;
        if (!is_held || deadline.is_past()) return returned;
        os::nap();
    }
}

// Changes a sequence by bytes, which are staged if they are for another node and do not fit into a message. Returns the number in
// the result.
//   wanted  bytes for which there may be no room
template <typename Operation>
Result<std::uint64_t> Sequences::change(typename Operation::Input input,
                                        const char* source,
                                        std::uint64_t bytes,
                                        std::uint64_t wanted) {
    local::Bytes tail = std::as_bytes(std::span(source, bytes));
    Stage stage(gma_, allocator_);
    if (bytes > allocator::sequence_inline_max) {
        auto where = is_here(input.name);
        if (!where.is_ok()) return std::move(where).failure();
        if (!where.value()) {
            auto status = stage.borrow(input.name, bytes);
            if (status.is_ok()) status = stage.put(source, bytes);
            if (!status.is_ok()) return status;
            input.stage = stage.lent();
            tail = {};
        }
    }
    auto returned = run_when_not_held<Operation>(input, tail, {});
    if (!returned.is_ok()) return std::move(returned).failure();
    const SequenceResult& result = returned.value().output;
    if (auto status = outcome(input.name, result.effect, wanted); !status.is_ok()) return status;
    return result.bytes;
}

// Fetches bytes from an index into the target; if they do not fit into a message of another node, again by a stage that is
// somewhat larger than needed.
template <typename Operation>
Result<Portion> Sequences::fetch(typename Operation::Input input,
                                 std::uint64_t index,
                                 char* target) {
    for (std::uint64_t staged = 0;;) {
        Stage stage(gma_, allocator_);
        std::span<std::byte> room = std::as_writable_bytes(std::span(target, input.bytes));
        if (staged != 0) {
            auto status = stage.borrow(input.name, staged);
            if (!status.is_ok()) return status;
            input.stage = stage.lent();
            room = {};
        }
        auto returned = run_when_not_held<Operation>(input, {}, room);
        if (!returned.is_ok()) return std::move(returned).failure();
        const SequenceResult& result = returned.value().output;
        if (auto status = outcome(input.name, result.effect, input.bytes); !status.is_ok())
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
    const bool is_short = bytes <= allocator::made_bytes_max;
    auto made = RemoteCall<allocator::MakeSequence>(gma_, allocator_)
                    .run(process, {kind, is_short ? bytes : 0, std::max(bytes, capacity),
                                   gma_.space().process()});
    if (!made.is_ok()) return std::move(made).failure();
    const allocator::MadeSequence& there = made.value().output;
    if (there.address == 0) return allocator_.no_room(process, std::max(bytes, capacity));
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
    for (std::uint64_t there = 0; there < wish.bytes;) {
        auto extended = RemoteCall<allocator::ExtendSequence>(gma_, allocator_).run(process, wish);
        if (!extended.is_ok()) return std::move(extended).failure();
        const allocator::ExtendedSequence& now = extended.value().output;
        if (now.effect != SequenceEffect::done) return outcome(wish.name, now.effect, wish.bytes);
        there = now.there;
    }
    return {};
}

Status Sequences::destroy(const SequenceName& name) {
    auto destroyed = run<allocator::DestroySequence>({name});
    return destroyed.is_ok() ? Status() : std::move(destroyed).failure();
}

Result<std::uint64_t> Sequences::push(const SequenceName& name,
                                      ContentEnd end,
                                      const char* source,
                                      std::uint64_t bytes) {
    return change<allocator::PushBytes>({name, end == ContentEnd::front ? 1U : 0U, {}, bytes},
                                        source, bytes, bytes);
}

Result<std::uint64_t> Sequences::pop(const SequenceName& name,
                                     ContentEnd end,
                                     char* target,
                                     std::uint64_t bytes) {
    const allocator::SequencePop request{
        name, end == ContentEnd::front ? 1U : 0U, target != nullptr ? 1U : 0U, {}, bytes};
    if (target == nullptr) return change<allocator::PopBytes>(request, nullptr, 0, bytes);
    auto taken = fetch<allocator::PopBytes>(request, 0, target);
    if (!taken.is_ok()) return std::move(taken).failure();
    return taken.value().bytes;
}

Result<Portion> Sequences::read(const SequenceName& name,
                                std::uint64_t index,
                                char* target,
                                std::uint64_t bytes) {
    return fetch<allocator::ReadBytes>({name, index, {}, bytes}, index, target);
}

Result<std::uint64_t> Sequences::splice(const SequenceName& name, const sequence::Splice& splice) {
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
    return outcome(name, SequenceEffect::outside, 0);
}

Result<SequenceTold> Sequences::tell(const SequenceName& name,
                                     std::uint64_t index,
                                     std::uint64_t bytes) {
    auto told = run<allocator::TellSequence>({name, index, bytes});
    if (!told.is_ok()) return std::move(told).failure();
    return told.value().output;
}

}  // namespace acp::data
