// SPDX-License-Identifier: BSD-3-Clause
// Changes and reads of long vectors and deques of another node, by operations that are short for its
// gateway. A change makes the new body in a block on loan, by copies of 64 KiB each, and one
// operation installs it if the content is still the one that was copied; if this process dies
// before, the block is freed and the content is as it was. A push writes its pieces beside the
// content. A read copies from where the content lies. Each call returns no value if other threads changed the content during the call. Any thread;
// blocks.
// Tests: tests/conformance/long_sequence_test.cpp, tests/leaks.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.hpp"
#include "data/sequence_calls.hpp"

namespace acp::data {

class SequencePieces {
public:
    //   calls  outlives this
    explicit SequencePieces(const SequenceCalls& calls) noexcept : calls_(calls) {}

    // Returns the length of the content before.
    using Changed = base::Result<std::optional<std::uint64_t>>;
    [[nodiscard]] Changed splice(const SequenceName& name, const sequence::Splice& splice) const;

    // The number of attempts in pieces while other threads change the content. After those the owner's
    // gateway runs one operation of any length, and serves no other request during it.
    static constexpr std::uint32_t attempts_max = 8;

    // Pushes bytes, after attempts_max attempts at once. Returns the index where they begin.
    [[nodiscard]] base::Result<std::uint64_t> push(const SequenceName& name,
                                                   sequence::ContentEnd end,
                                                   const char* source,
                                                   std::uint64_t bytes) const;

    using Copied = base::Result<std::optional<sequence::Portion>>;
    [[nodiscard]] Copied read(const SequenceName& name,
                              std::uint64_t index,
                              char* target,
                              std::uint64_t bytes) const;

    // Removes up to `bytes` bytes at an end.
    [[nodiscard]] Copied pop(const SequenceName& name,
                             sequence::ContentEnd end,
                             char* target,
                             std::uint64_t bytes) const;

private:
    struct VersionRead {
        sequence::Portion portion;
        std::uint64_t version = 0;
    };

    template <typename Operation, typename Place>
    [[nodiscard]] base::Result<allocator::SequenceResult> run(const typename Operation::Input& all,
                                                              std::uint64_t first,
                                                              std::uint64_t bytes,
                                                              const Place& place) const;
    [[nodiscard]] Changed push_version(const allocator::PieceToPush& all) const;
    [[nodiscard]] base::Result<VersionRead> read_version(const SequenceName& name,
                                                         std::uint64_t index,
                                                         char* target,
                                                         std::uint64_t bytes) const;

    const SequenceCalls& calls_;
};

}  // namespace acp::data
