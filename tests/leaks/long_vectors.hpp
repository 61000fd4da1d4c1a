// SPDX-License-Identifier: BSD-3-Clause
// Vectors of records of some hundred kilobytes, one on each host, which ranks grow, change and
// assign until they are killed: the callers of the other node make each new body in pieces. A kill
// leaves the content before or after the call, so all records stay whole. Used by the ranks of
// leak_victims; no two threads of a rank.
#pragma once

#include <array>
#include <string>

#include <acp.h>

#include "support/random.hpp"
#include "support/rank_check.hpp"

namespace acp::test {

class LongVectors {
public:
    static constexpr std::size_t record_bytes = 1'000;
    static constexpr std::size_t records_most = 1'000;

    void make(const std::array<int, 2>& hosts) {
        for (std::size_t i = 0; i < hosts.size(); ++i) {
            vectors_[i] = acp_create_vector(0, hosts[i]);
            must(vectors_[i].ga != ACP_GA_NULL, "making a long vector");
            push(vectors_[i], 200, 'a');
        }
    }

    // One random change.
    void operate(Random& random) const {
        const acp_vector_t vector = vectors_[random.below(2)];
        const char letter = static_cast<char>('a' + random.below(26));
        const std::size_t records = 1 + random.below(150);
        switch (acp_size_vector(vector) > records_most * record_bytes ? 4 : random.below(5)) {
            case 0:
                return push(vector, records, letter);
            case 1: {
                const std::string text(records * record_bytes, letter);
                const acp_vector_it_t at =
                    acp_insert_vector(acp_begin_vector(vector), text.data(), text.size());
                return must(at.vector.ga != ACP_GA_NULL, "acp_insert_vector");
            }
            case 2:
                return must(acp_reserve_vector(vector, records * record_bytes * 4) == 0,
                            "acp_reserve_vector");
            case 3:
                return must(acp_assign_vector(vectors_[0], vectors_[1]) == 0, "acp_assign_vector");
            default: {
                std::string taken(3 * records * record_bytes, '\0');
                must(acp_take_back_vector(vector, taken.data(), taken.size()) >= 0,
                     "acp_take_back_vector");
            }
        }
    }

    void look_and_destroy() const {
        for (const acp_vector_t vector : vectors_) {
            std::string text(acp_size_vector(vector), '\0');
            must(acp_read_vector(vector, 0, text.data(), text.size()) ==
                     static_cast<std::int64_t>(text.size()),
                 "reading a long vector");
            must(text.size() % record_bytes == 0, "a long vector has a part of a record");
            for (std::size_t at = 0; at < text.size(); at += record_bytes) {
                must(text.find_first_not_of(text[at], at) >= at + record_bytes,
                     "a record of a long vector is torn");
            }
            must(acp_destroy_vector(vector) == 0, "destroying a long vector");
        }
    }

private:
    static void push(acp_vector_t vector, std::size_t records, char letter) {
        const std::string text(records * record_bytes, letter);
        must(acp_push_back_vector(vector, text.data(), text.size()) == 0, "acp_push_back_vector");
    }

    std::array<acp_vector_t, 2> vectors_{};
};

}  // namespace acp::test
