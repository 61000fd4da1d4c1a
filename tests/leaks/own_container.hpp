// SPDX-License-Identifier: BSD-3-Clause
// A container of any kind that one rank of the leak tests makes on one of two ranks, uses and
// destroys, again and again. It publishes its current container in memory of another rank, so that
// survivors can destroy it. One thread.
#pragma once

#include <cstdint>

#include <acp.h>

#include "support/random.hpp"
#include "support/rank_check.hpp"

namespace acp::test {

enum class Kind : std::uint64_t { none, map, multimap, set, multiset, list, vector, deque };

// The current container of a rank: the member of its kind.
struct Own {
    acp_map_t map;
    acp_multimap_t multimap;
    acp_set_t set;
    acp_multiset_t multiset;
    acp_list_t list;
    acp_vector_t vector;
    acp_deque_t deque;
    Kind kind;
};

class OwnContainer {
public:
    //   place  of an Own in another rank's memory, where it is published
    OwnContainer(acp_ga_t place, std::uint64_t seed) : place_(place), random_(seed) {}

    // Makes a container, or uses or destroys the current one.
    void operate();

    // Destroys a published container; it may be gone already.
    static void destroy(const Own& own);

private:
    void make();
    void use();
    void tell_kind() const;

    acp_ga_t place_;
    Random random_;
    Own own_{};
    int home_ = 0;  // the rank of a list
};

}  // namespace acp::test
