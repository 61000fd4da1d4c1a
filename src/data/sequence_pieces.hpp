// SPDX-License-Identifier: BSD-3-Clause
// Changes and reads of long vectors and deques of another node, by operations that are short for its
// gateway. A change makes the new body in a block on loan, by copies of 64 KiB each, and one
// operation installs it if the content is still the one that was copied; if this process dies
// before, the block is freed and the content is as it was. A read copies from where the content
// lies. Each call returns no value if other threads changed the content during the call. Any thread;
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

    [[nodiscard]] base::Result<sequence::SequenceEffect> copy(
        const TransitBlock& stage, const allocator::ContentToCopy& all) const;
    [[nodiscard]] base::Result<VersionRead> read_version(const SequenceName& name,
                                                         std::uint64_t index,
                                                         char* target,
                                                         std::uint64_t bytes) const;

    const SequenceCalls& calls_;
};

}  // namespace acp::data
