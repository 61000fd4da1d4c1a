// SPDX-License-Identifier: BSD-3-Clause
// Vectors and deques of any rank: each call runs in the calling thread if the sequence's heap is
// mapped here, and else in the gateway of the owner's node, in one round trip if the bytes fit into
// one operation. More bytes are staged in a block of the owner's heap. The owner need not help. One
// object per epoch. Any thread; blocks while it waits for other nodes.
// Tests: tests/conformance/vector_test.cpp, deque_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"

#include "allocator/node_sequences.hpp"
#include "allocator/sequence_operations.hpp"
#include "sequence/sequence.hpp"

namespace acp::data {

using allocator::SequenceName;

class Sequences {
public:
    //   gma, allocator  outlive this
    Sequences(gma::Gma& gma, Allocator& allocator) noexcept : gma_(gma), allocator_(allocator) {}

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
                                               std::uint64_t bytes);

private:
    class Stage;
    struct Here;

    template <typename Call>
    [[nodiscard]] base::Status here(const SequenceName& name,
                                    std::uint32_t owner,
                                    const Call& call);
    [[nodiscard]] base::Result<bool> is_here(const SequenceName& name, std::uint32_t& owner);
    [[nodiscard]] base::Status none_there(const SequenceName& name) const;
    [[nodiscard]] base::Status ask(const SequenceName& name, const gma::Invocation& call);

    template <typename Request>
    [[nodiscard]] base::Result<std::uint64_t> change_there(std::uint32_t owner,
                                                           std::uint32_t operation,
                                                           Request request,
                                                           const char* source,
                                                           std::uint64_t bytes,
                                                           std::uint64_t wanted);
    template <typename Request>
    [[nodiscard]] base::Result<sequence::Portion> fetch_there(std::uint32_t owner,
                                                              std::uint32_t operation,
                                                              Request request,
                                                              std::uint64_t index,
                                                              char* target);
    [[nodiscard]] base::Result<allocator::SequenceTold> tell_there(
        std::uint32_t owner, const allocator::SequenceTell& request);
    [[nodiscard]] base::Status outcome(std::uint32_t owner,
                                       sequence::SequenceEffect effect,
                                       std::uint64_t bytes);

    gma::Gma& gma_;
    Allocator& allocator_;
};

}  // namespace acp::data
