// SPDX-License-Identifier: BSD-3-Clause
// Maps a process index to its node, by the table of first process indexes. Where all nodes have
// equally many processes a lookup costs a multiplication, else a binary search. Knows no rank:
// process indexes are for life. Immutable; any thread. Tests: tests/unit/engine/node_map_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "router/router.hpp"

namespace acp::engine {

class NodeMap final : public router::Map {
public:
    //   first_process  [k] is node k's first process, the last entry the number of processes;
    //                  ascending, >= 2 entries
    explicit NodeMap(std::vector<std::uint32_t> first_process)
        : first_process_(std::move(first_process)) {
        const std::uint32_t block = first_process_[1];
        bool is_regular = block > 1;
        for (std::size_t k = 1; k + 1 < first_process_.size(); ++k) {
            is_regular = is_regular && first_process_[k] == k * block;
        }
        is_regular = is_regular && first_process_.back() <= block * (first_process_.size() - 1);
        // ceil(2^64 / block): exact for 32-bit dividends
        if (is_regular) reciprocal_ = ~0ULL / block + 1;
        is_one_each_ = block == 1 && first_process_.back() == first_process_.size() - 1;
    }

    [[nodiscard]] router::NodeId node_of(std::uint32_t process) const noexcept override {
        if (is_one_each_) {
            return process;
        }
        if (reciprocal_ != 0) {
            __extension__ using Wide = unsigned __int128;
            return static_cast<router::NodeId>(Wide{process} * reciprocal_ >> 64);
        }
        const auto after = std::upper_bound(first_process_.begin(), first_process_.end(), process);
        return static_cast<router::NodeId>(after - first_process_.begin() - 1);
    }

    [[nodiscard]] std::uint32_t first_process(router::NodeId node) const noexcept override {
        return first_process_[node];
    }

private:
    std::vector<std::uint32_t> first_process_;
    std::uint64_t reciprocal_ = 0;  // 0: binary search
    bool is_one_each_ = false;
};

}  // namespace acp::engine
