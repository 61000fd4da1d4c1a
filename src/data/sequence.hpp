// SPDX-License-Identifier: BSD-3-Clause
// Vectors and deques of any rank: each call is one operation (allocator/sequence_operations.hpp), in
// one round trip if its bytes fit into a message. More bytes for another node are staged in a block
// of the owner's heap. Where an operation would copy more than 64 KiB to a new body on another node,
// or reads, pushes or removes more there, data/sequence_pieces.hpp does it in pieces. The owner need not
// help. One object per epoch. Any thread; blocks while it waits for other nodes.
// Tests: tests/conformance/vector_test.cpp, deque_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/sequence_calls.hpp"
#include "data/sequence_pieces.hpp"
#include "gma/gma.hpp"

#include "allocator/sequence_operations.hpp"
#include "sequence/sequence.hpp"

namespace acp::data {

class Sequences {
public:
    //   gma, allocator  outlive this
    Sequences(gma::Gma& gma, Allocator& allocator) noexcept
        : calls_(gma, allocator), pieces_(calls_) {}

    ~Sequences() = default;
    Sequences(const Sequences&) = delete;
    Sequences& operator=(const Sequences&) = delete;

    // Errors, here and in all calls below: unsupported (the job has no heaps), peer (the owner's
    // node is lost), memory (no room in the owner's heap; nothing has changed).
    //   process  < procs
    base::Result<GlobalAddress> make(std::uint32_t process,
                                     sequence::SequenceKind kind,
                                     std::uint64_t bytes,
                                     std::uint64_t capacity);

    // Errors, here and in all calls below: stale (no sequence of the kind is there: it was
    // destroyed), address (it is not in a heap).
    base::Status destroy(const SequenceName& name);

    // Returns the index where the bytes begin.
    base::Result<std::uint64_t> push(const SequenceName& name,
                                     sequence::ContentEnd end,
                                     const char* source,
                                     std::uint64_t bytes);

    // Returns how many bytes were removed.
    //   target  nullptr: they are dropped
    base::Result<std::uint64_t> pop(const SequenceName& name,
                                    sequence::ContentEnd end,
                                    char* target,
                                    std::uint64_t bytes);

    // Copies up to `bytes` bytes from an index, which may lie behind the content.
    base::Result<sequence::Portion> read(const SequenceName& name,
                                         std::uint64_t index,
                                         char* target,
                                         std::uint64_t bytes);

    // Further errors: argument (the range is not in the content). Returns the earlier length of the
    // content.
    base::Result<std::uint64_t> splice(const SequenceName& name, const sequence::Splice& splice);

    // The length of the content, and the addresses of bytes.
    base::Result<allocator::SequenceTold> tell(const SequenceName& name,
                                               std::uint64_t index,
                                               std::uint64_t bytes) {
        return calls_.tell(name, index, bytes);
    }

private:
    // The number in a result; nothing: the operation would copy too many bytes at once.
    using Changed = SequencePieces::Changed;
    template <typename Operation>
    [[nodiscard]] Changed change(typename Operation::Input input,
                                 const char* source,
                                 std::uint64_t bytes,
                                 std::uint64_t wanted);
    [[nodiscard]] Changed splice_at_once(const SequenceName& name, const sequence::Splice& splice);
    template <typename Operation>
    [[nodiscard]] base::Result<sequence::Portion> fetch(typename Operation::Input input,
                                                        std::uint64_t index,
                                                        char* target);
    [[nodiscard]] base::Status extend(std::uint32_t process,
                                      const allocator::SequenceToExtend& wish);

    SequenceCalls calls_;
    SequencePieces pieces_;
};

}  // namespace acp::data
