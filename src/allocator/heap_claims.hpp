// SPDX-License-Identifier: BSD-3-Clause
// What the heap of a process claims in the node segment beside its blocks (node::heap_blocks): its
// words, and the records of those that use its containers. Pure; any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/words.hpp"
#include "node/heap_limit.hpp"
#include "node/segment.hpp"

#include "list/layout.hpp"
#include "sequence/layout.hpp"
#include "table/layout.hpp"

namespace acp::allocator {

static_assert(node::heap_step_bytes == heap::area_bytes);

// The words of each heap of a node, which all its processes and the gateway use. Each process of
// the job may have several threads to which the heap has loaned blocks.   heap_bytes  not 0
[[nodiscard]] constexpr heap::WordsLayout heap_words_of(const node::Shape& shape) noexcept {
    return {static_cast<std::uint32_t>(shape.heap_bytes / heap::area_bytes), node::slots_of(shape),
            64 + 2 * shape.procs};
}

// The participants of a heap's tables, of its lists, and of its vectors and deques: one for each of
// its thread caches.
[[nodiscard]] constexpr std::uint32_t heap_users_of(const node::Shape& shape) noexcept {
    return node::slots_of(shape) * heap::caches_per_process;
}

// Bytes of a record for each participant; 0: there is no heap.
template <typename Record>
[[nodiscard]] constexpr std::uint64_t bytes_of_users(const node::Shape& shape) noexcept {
    return shape.heap_bytes == 0 ? 0 : heap_users_of(shape) * sizeof(Record);
}

inline constexpr node::ClaimedRange heap_words{
    .name = "words of the heap",
    .bytes = [](const node::Shape& shape) -> std::uint64_t {
        return shape.heap_bytes == 0 ? 0 : heap_words_of(shape).bytes();
    },
    .alignment = 4096,
    .has_address = false};

inline constexpr node::ClaimedRange table_users{
    .name = "who uses the tables of the heap",
    .bytes = bytes_of_users<table::Participant<std::atomic>>,
    .alignment = 4096,
    .has_address = false};

inline constexpr node::ClaimedRange list_users{
    .name = "who uses the lists of the heap",
    .bytes = bytes_of_users<list::ListParticipant<std::atomic>>,
    .alignment = 4096,
    .has_address = false};

inline constexpr node::ClaimedRange sequence_users{
    .name = "who uses the vectors and deques of the heap",
    .bytes = bytes_of_users<sequence::SequenceUser<std::atomic>>,
    .alignment = 4096,
    .has_address = false};

}  // namespace acp::allocator
