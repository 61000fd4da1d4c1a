// SPDX-License-Identifier: BSD-3-Clause
// Handles of containers that a call must refuse, each with the code of the failure. A handle has the
// address of its container.
#pragma once

#include <cstdint>
#include <vector>

#include <acp.h>

namespace acp::api::test {

struct RefusedHandle {
    const char* what;
    acp_ga_t address;
    int code;
};

// Containers of every kind on rank 0. The objects are made before one is destroyed, so no container
// lies at the address of the destroyed one.
class SomeContainers {
public:
    SomeContainers()
        : vector(acp_create_vector(0, 0)),
          deque(acp_create_deque(0, 0)),
          list(acp_create_list(0)),
          lock(acp_create_lock(0)),
          map(acp_create_map(1, nullptr, 16, 0)),
          multimap(acp_create_multimap(1, nullptr, 16, 0)),
          set(acp_create_set(1, nullptr, 16, 0)),
          multiset(acp_create_multiset(1, nullptr, 16, 0)),
          block(acp_malloc(256, 0)) {}

    ~SomeContainers() {
        (void)acp_destroy_vector(vector);
        (void)acp_destroy_deque(deque);
        (void)acp_destroy_list(list);
        (void)acp_free_lock(lock);
        (void)acp_destroy_map(map);
        (void)acp_destroy_multimap(multimap);
        (void)acp_destroy_set(set);
        (void)acp_destroy_multiset(multiset);
        (void)acp_free(block);
    }

    SomeContainers(const SomeContainers&) = delete;
    SomeContainers& operator=(const SomeContainers&) = delete;

    // Handles that name no container of the kind of `own`, and `gone`, a destroyed one of this kind.
    //   other_kind  the failure for a container of another kind
    [[nodiscard]] std::vector<RefusedHandle> all_but(acp_ga_t own,
                                                     acp_ga_t gone,
                                                     int other_kind = ACP_ERR_ARGUMENT) const {
        const acp_ga_t starter = acp_query_starter_ga(0);
        std::vector<RefusedHandle> handles{
            {"the null address", ACP_GA_NULL, ACP_ERR_ADDRESS},
            {"starter memory", starter, ACP_ERR_ADDRESS},
            {"behind starter memory", starter + acp_starter_size(), ACP_ERR_ADDRESS},
            {"the largest address", ~acp_ga_t{0}, ACP_ERR_ADDRESS},
            {"a destroyed container", gone, ACP_ERR_STALE},
            {"a block of the program", block, ACP_ERR_STALE},
            {"inside a block of the program", block + 64, ACP_ERR_STALE},
        };
        for (const acp_ga_t other :
             {vector.ga, deque.ga, list.ga, map.ga, multimap.ga, set.ga, multiset.ga}) {
            if (other != own) handles.push_back({"a container of another kind", other, other_kind});
        }
        return handles;
    }

    acp_vector_t vector;
    acp_deque_t deque;
    acp_list_t list;
    acp_lock_t lock;
    acp_map_t map;
    acp_multimap_t multimap;
    acp_set_t set;
    acp_multiset_t multiset;
    acp_ga_t block;
};

}  // namespace acp::api::test
