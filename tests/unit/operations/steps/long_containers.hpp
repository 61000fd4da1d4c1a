// SPDX-License-Identifier: BSD-3-Clause
// Long containers in the heap of a HostileScene, and for each row of the table of operations the
// requests on them that make an operation work most: as many elements, blocks, places or bytes as a
// request may name, in containers of more elements than an operation may visit. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "unit/operations/hostile_scene.hpp"

namespace acp::operations::test {

struct LongRequest {
    std::string what;
    Request request;
};

class LongContainers {
public:
    static constexpr std::uint32_t elements_per_list = 2'000;
    static constexpr std::uint32_t entries_per_table = 4'000;
    static constexpr std::uint64_t content_bytes = 1 << 20;  // the content of vector and deque

    //   scene  outlives this
    explicit LongContainers(HostileScene& scene);

    // In the order in which they are to be run: the last ones destroy what the others use.
    [[nodiscard]] std::vector<LongRequest> requests();

private:
    void ask(std::uint32_t number, const Bytes& bytes);
    void fill_list(std::uint64_t& list, std::vector<list::Position>& positions);
    void fill_table(allocator::TableName& name, bool has_many);
    void fill_sequence(allocator::SequenceName& name, sequence::SequenceKind kind);
    void fill_lock();
    allocator::LentBlock lend(std::uint64_t bytes);
    [[nodiscard]] Bytes blocks_of(std::uint64_t bytes);
    void add_heap_requests(std::vector<LongRequest>& all);
    void add_list_requests(std::vector<LongRequest>& all);
    void add_table_requests(std::vector<LongRequest>& all);
    void add_batches(std::vector<LongRequest>& all);
    void add_sequence_requests(std::vector<LongRequest>& all);
    void add_lock_requests(std::vector<LongRequest>& all);
    void add_page_requests(std::vector<LongRequest>& all);

    HostileScene& scene_;
    std::array<std::uint64_t, 2> lists_{};
    std::vector<list::Position> positions_;
    allocator::TableName table_;
    allocator::TableName many_;
    allocator::SequenceName vector_;
    allocator::SequenceName deque_;
    allocator::LentBlock stage_;
    std::uint64_t lock_ = 0;
    std::uint32_t last_ticket_ = 0;
};

}  // namespace acp::operations::test
