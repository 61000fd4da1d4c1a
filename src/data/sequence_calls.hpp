// SPDX-License-Identifier: BSD-3-Clause
// How calls on vectors and deques reach the heap of one, wherever that is: operations on it
// (allocator/sequence_operations.hpp), with failures in words, and stages for bytes in transit. Any
// thread; blocks where another node is asked.
// Tests: tests/unit/data/sequences_test.cpp, tests/conformance/vector_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/ask.hpp"
#include "data/remote_call.hpp"
#include "gma/deadline.hpp"
#include "gma/gma.hpp"
#include "os/cpu.hpp"

#include "allocator/sequence_operations.hpp"
#include "sequence/sequence.hpp"

namespace acp::data {

using allocator::SequenceName;

class SequenceCalls {
public:
    //   gma, allocator  outlive this
    SequenceCalls(gma::Gma& gma, Allocator& allocator) noexcept
        : gma_(gma), allocator_(allocator) {}

    ~SequenceCalls() = default;
    SequenceCalls(const SequenceCalls&) = delete;
    SequenceCalls& operator=(const SequenceCalls&) = delete;

    [[nodiscard]] gma::Gma& gma() const noexcept { return gma_; }

    [[nodiscard]] Allocator& allocator() const noexcept { return allocator_; }

    template <typename Operation>
    using Returned = base::Result<typename RemoteCall<Operation>::Returned>;

    // Runs an operation on the sequence that its input names. Errors: address, stale, system (its
    // words were overwritten).
    template <typename Operation>
    [[nodiscard]] Returned<Operation> run(const typename Operation::Input& input,
                                          local::Bytes tail = {},
                                          std::span<std::byte> room = {}) const {
        auto owner = allocator_.owner_of(input.name.address);
        if (!owner.is_ok()) return std::move(owner).failure();
        auto returned =
            RemoteCall<Operation>(gma_, allocator_).run(owner.value(), input, tail, room);
        if (returned.is_ok()) return returned;
        auto failure = std::move(returned).failure();
        if (failure.code() == base::Code::stale) return none_there(input.name);
        if (failure.code() == base::Code::system) return damage();
        return failure;
    }

    // Runs an operation again as long as another participant holds the sequence: a gateway returns
    // busy at once, and this thread waits instead of it, as long as a process of the owner's node
    // would. The call then takes the sequence over. If the heap has no room for the copy which that
    // takes, it waits for another second: a process that waits for a CPU gets it in that time.
    template <typename Operation>
    [[nodiscard]] Returned<Operation> run_when_free(typename Operation::Input input,
                                                    local::Bytes tail = {},
                                                    std::span<std::byte> room = {}) const {
        using sequence::SequenceEffect;
        constexpr std::int64_t patience_ns = 1'000'000'000;
        const gma::Deadline deadline(patience_ns);
        std::optional<gma::Deadline> hold;
        for (;; os::nap()) {
            auto returned = run<Operation>(input, tail, room);
            if (!returned.is_ok()) return returned;
            const SequenceEffect effect = returned.value().output.effect;
            if (effect == SequenceEffect::busy) {
                if (!hold) {
                    auto told = tell(input.name, 0, 0);
                    if (!told.is_ok()) return std::move(told).failure();
                    const std::uint64_t capacity = told.value().capacity;
                    hold.emplace(
                        static_cast<std::int64_t>(allocator::NodeOthers::patience_ns(capacity)));
                }
                if (hold->is_past()) input.name.may_be_long = 1;
                continue;
            }
            if (effect != SequenceEffect::held || deadline.is_past()) return returned;
        }
    }

    // The length of the content, and the addresses of bytes.
    [[nodiscard]] base::Result<allocator::SequenceTold> tell(const SequenceName& name,
                                                             std::uint64_t index,
                                                             std::uint64_t bytes) const;

    // Whether the sequence is on this node.
    [[nodiscard]] base::Result<bool> is_here(const SequenceName& name) const;

    // Whether the bytes are too many for one operation of the gateway of another node.
    [[nodiscard]] base::Result<bool> is_long_and_elsewhere(const SequenceName& name,
                                                           std::uint64_t bytes) const;

    // Converts an effect to a status.
    //   bytes  for which there may be no room; outside: length of the content
    [[nodiscard]] base::Status outcome(const SequenceName& name,
                                       sequence::SequenceEffect effect,
                                       std::uint64_t bytes) const;

    [[nodiscard]] base::Status none_there(const SequenceName& name) const;

    [[nodiscard]] static base::Status damage();

private:
    gma::Gma& gma_;
    Allocator& allocator_;
};

// A block of another node's heap, for bytes in transit.
class TransitBlock {
public:
    explicit TransitBlock(const SequenceCalls& calls) noexcept : calls_(calls) {}

    ~TransitBlock() {
        if (lent_.address != 0) calls_.allocator().give_back(lent_);
    }

    TransitBlock(const TransitBlock&) = delete;
    TransitBlock& operator=(const TransitBlock&) = delete;

    // In the heap of the sequence.
    [[nodiscard]] base::Status borrow(const SequenceName& name, std::uint64_t bytes) {
        Allocator& allocator = calls_.allocator();
        auto owner = allocator.owner_of(name.address);
        if (!owner.is_ok()) return std::move(owner).failure();
        auto lent = allocator.borrow(owner.value(), bytes);
        if (!lent.is_ok())
            return std::move(lent).failure().within("the bytes pass through a block of its heap");
        lent_ = lent.value();
        return {};
    }

    [[nodiscard]] base::Status put(const char* source,
                                   std::uint64_t bytes,
                                   std::uint64_t at = 0) const {
        return data::put(calls_.gma(), lent_.address + at, source, bytes);
    }

    [[nodiscard]] base::Status get(char* target, std::uint64_t bytes) const {
        return data::get(calls_.gma(), target, lent_.address, bytes);
    }

    [[nodiscard]] const allocator::LentBlock& lent() const noexcept { return lent_; }

    // The block belongs to the sequence now.
    void give_away() noexcept { lent_ = {}; }

private:
    const SequenceCalls& calls_;
    allocator::LentBlock lent_;
};

}  // namespace acp::data
