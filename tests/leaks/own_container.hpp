// SPDX-License-Identifier: BSD-3-Clause
// A container of any kind that one rank of the leak tests makes on one of two ranks, uses and destroys, again and again. It tells in memory
// of another rank which container it has, so that others can destroy what it leaves. One thread.
#pragma once

#include <cstdint>

#include <acp.h>

#include "support/random.hpp"

namespace acp::test {

// Ends the process with the last error of the library unless `is_so`.
void must(bool is_so, const char* what);

enum class Kind : std::uint64_t { none, map, multimap, set, multiset, list, vector, deque };

// A container of a rank's own: one of these, by its kind.
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
    //   place  of an Own, where others find it
    OwnContainer(acp_ga_t place, std::uint64_t seed) : place_(place), random_(seed) {}

    // Makes one, or uses or destroys the one that is there.
    void operate();

    // One that is not there was destroyed, or went with who had made it.
    static void destroy(const Own& own);

private:
    void make();
    void use();
    void tell_kind() const;

    acp_ga_t place_;
    Random random_;
    Own own_{};
    int home_ = 0;  // of a list
};

}  // namespace acp::test
