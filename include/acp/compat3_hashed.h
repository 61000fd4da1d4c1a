/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets, multisets and maps as ACP 3.0 declared them: keys and values lie at global addresses, and
 * calls that change a container return nothing. A program that includes this header calls these
 * functions by the names of 3.0. They behave as 3.0's documentation says, and as <acp/hashed.h>
 * says where that is silent: a failure sets acp_errno() and changes nothing. A key of 0 bytes is
 * not stored: an insert returns 0. The other functions of these containers already have the
 * signatures of 3.0. */
#ifndef ACP_COMPAT3_HASHED_H
#define ACP_COMPAT3_HASHED_H

#include <stddef.h>
#include <stdint.h>

#include <acp/map.h>
#include <acp/multiset.h>
#include <acp/set.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Insert a copy of the key.size bytes at key.ga, on any rank. 1: the container has the key now
 * (multiset: counted once more); 0: a failure. */
ACP_API int acp3_insert_set(acp_set_t set, acp_element_t key);
ACP_API int acp3_insert_multiset(acp_multiset_t set, acp_element_t key);

/* Inserts copies of a key, pair.first, and its value, pair.second. 1: inserted; 0: the key was
 * there and its value stays, or a failure. */
ACP_API int acp3_insert_map(acp_map_t map, acp_pair_t pair);

/* Find the entry of a key; elem is ACP_GA_NULL when there is none, and after a failure. */
ACP_API acp_set_it_t acp3_find_set(acp_set_t set, acp_element_t key);
ACP_API acp_multiset_it_t acp3_find_multiset(acp_multiset_t set, acp_element_t key);
ACP_API acp_map_it_t acp3_find_map(acp_map_t map, acp_element_t key);

/* Erase a key if it is there. acp3_remove_multiset takes one from its count and erases the key at
 * 0; acp3_remove_all_multiset erases it with any count. */
ACP_API void acp3_remove_set(acp_set_t set, acp_element_t key);
ACP_API void acp3_remove_multiset(acp_multiset_t set, acp_element_t key);
ACP_API void acp3_remove_all_multiset(acp_multiset_t set, acp_element_t key);
ACP_API void acp3_remove_map(acp_map_t map, acp_element_t key);

/* The count of a key; 0 for an absent key, and after a failure. */
ACP_API uint64_t acp3_retrieve_multiset(acp_multiset_t set, acp_element_t key);

/* Copies the value of the key pair.first to pair.second.ga, at most pair.second.size bytes. Returns
 * how many bytes were copied; 0: there is no such key, or a failure. */
ACP_API size_t acp3_retrieve_map(acp_map_t map, acp_pair_t pair);

#ifdef __cplusplus
}
#endif

/* The functions with the arguments of 3.0 but other results: those of 3.0 return nothing, or show
 * no failure in their result. */
#define ACP_COMPAT3_CALL(name, kind)                              \
    static inline void acp3_##name##_##kind(acp_##kind##_t one) { \
        (void)acp_##name##_##kind(one);                           \
    }
#define ACP_COMPAT3_CALL_ON_TWO(name, kind)                                             \
    static inline void acp3_##name##_##kind(acp_##kind##_t one, acp_##kind##_t other) { \
        (void)acp_##name##_##kind(one, other);                                          \
    }
#define ACP_COMPAT3_IS_EMPTY(name, kind)                         \
    static inline int acp3_##name##_##kind(acp_##kind##_t one) { \
        return acp_##name##_##kind(one) == 1 ? 1 : 0;            \
    }
#define ACP_COMPAT3_SIZE(name, kind)                                \
    static inline size_t acp3_##name##_##kind(acp_##kind##_t one) { \
        const size_t size = acp_##name##_##kind(one);               \
        return size == SIZE_MAX ? 0 : size;                         \
    }
#define ACP_COMPAT3_SAME_ARGUMENTS(kind)        \
    ACP_COMPAT3_CALL(destroy, kind)             \
    ACP_COMPAT3_CALL(clear, kind)               \
    ACP_COMPAT3_CALL(clear_local, kind)         \
    ACP_COMPAT3_CALL_ON_TWO(assign, kind)       \
    ACP_COMPAT3_CALL_ON_TWO(assign_local, kind) \
    ACP_COMPAT3_CALL_ON_TWO(merge, kind)        \
    ACP_COMPAT3_CALL_ON_TWO(merge_local, kind)  \
    ACP_COMPAT3_CALL_ON_TWO(move, kind)         \
    ACP_COMPAT3_CALL_ON_TWO(move_local, kind)   \
    ACP_COMPAT3_CALL_ON_TWO(swap, kind)         \
    ACP_COMPAT3_IS_EMPTY(empty, kind)           \
    ACP_COMPAT3_IS_EMPTY(empty_local, kind)     \
    ACP_COMPAT3_SIZE(size, kind)                \
    ACP_COMPAT3_SIZE(size_local, kind)

ACP_COMPAT3_SAME_ARGUMENTS(set)
ACP_COMPAT3_SAME_ARGUMENTS(multiset)
ACP_COMPAT3_SAME_ARGUMENTS(map)

#undef ACP_COMPAT3_SAME_ARGUMENTS
#undef ACP_COMPAT3_CALL
#undef ACP_COMPAT3_CALL_ON_TWO
#undef ACP_COMPAT3_IS_EMPTY
#undef ACP_COMPAT3_SIZE

#ifndef ACP_COMPAT3_KEEPS_NAMES
#define acp_insert_set acp3_insert_set
#define acp_find_set acp3_find_set
#define acp_remove_set acp3_remove_set
#define acp_destroy_set acp3_destroy_set
#define acp_clear_set acp3_clear_set
#define acp_clear_local_set acp3_clear_local_set
#define acp_assign_set acp3_assign_set
#define acp_assign_local_set acp3_assign_local_set
#define acp_merge_set acp3_merge_set
#define acp_merge_local_set acp3_merge_local_set
#define acp_move_set acp3_move_set
#define acp_move_local_set acp3_move_local_set
#define acp_swap_set acp3_swap_set
#define acp_empty_set acp3_empty_set
#define acp_empty_local_set acp3_empty_local_set
#define acp_size_set acp3_size_set
#define acp_size_local_set acp3_size_local_set
#define acp_insert_multiset acp3_insert_multiset
#define acp_find_multiset acp3_find_multiset
#define acp_remove_multiset acp3_remove_multiset
#define acp_remove_all_multiset acp3_remove_all_multiset
#define acp_retrieve_multiset acp3_retrieve_multiset
#define acp_destroy_multiset acp3_destroy_multiset
#define acp_clear_multiset acp3_clear_multiset
#define acp_clear_local_multiset acp3_clear_local_multiset
#define acp_assign_multiset acp3_assign_multiset
#define acp_assign_local_multiset acp3_assign_local_multiset
#define acp_merge_multiset acp3_merge_multiset
#define acp_merge_local_multiset acp3_merge_local_multiset
#define acp_move_multiset acp3_move_multiset
#define acp_move_local_multiset acp3_move_local_multiset
#define acp_swap_multiset acp3_swap_multiset
#define acp_empty_multiset acp3_empty_multiset
#define acp_empty_local_multiset acp3_empty_local_multiset
#define acp_size_multiset acp3_size_multiset
#define acp_size_local_multiset acp3_size_local_multiset
#define acp_insert_map acp3_insert_map
#define acp_find_map acp3_find_map
#define acp_remove_map acp3_remove_map
#define acp_retrieve_map acp3_retrieve_map
#define acp_destroy_map acp3_destroy_map
#define acp_clear_map acp3_clear_map
#define acp_clear_local_map acp3_clear_local_map
#define acp_assign_map acp3_assign_map
#define acp_assign_local_map acp3_assign_local_map
#define acp_merge_map acp3_merge_map
#define acp_merge_local_map acp3_merge_local_map
#define acp_move_map acp3_move_map
#define acp_move_local_map acp3_move_local_map
#define acp_swap_map acp3_swap_map
#define acp_empty_map acp3_empty_map
#define acp_empty_local_map acp3_empty_local_map
#define acp_size_map acp3_size_map
#define acp_size_local_map acp3_size_local_map
#endif

#endif
