/* SPDX-License-Identifier: BSD-3-Clause */
/* Generic names of the functions on containers: acp_insert(map, ...) is acp_insert_map(...). The
 * first argument is the name of a type without acp_ and _t, not a variable. A macro only forms a
 * name; the header of the container declares and describes the functions that exist. */
#ifndef ACP_GENERIC_H
#define ACP_GENERIC_H

/* The generic names of ACP 3.0 for containers: vector, deque, list, set, multiset, map, multimap
 * and ws, as far as acp_X_type exists. The types local_set, local_multiset, local_map and
 * local_multimap name the functions on the entries that the calling rank stores. */
#define acp_assign(type, ...) acp_assign_##type(__VA_ARGS__)
#define acp_assign_range(type, ...) acp_assign_range_##type(__VA_ARGS__)
#define acp_at(type, ...) acp_at_##type(__VA_ARGS__)
#define acp_back(type, ...) acp_back_##type(__VA_ARGS__)
#define acp_begin(type, ...) acp_begin_##type(__VA_ARGS__)
#define acp_bucket(type, ...) acp_bucket_##type(__VA_ARGS__)
#define acp_bucket_count(type, ...) acp_bucket_count_##type(__VA_ARGS__)
#define acp_bucket_size(type, ...) acp_bucket_size_##type(__VA_ARGS__)
#define acp_capacity(type, ...) acp_capacity_##type(__VA_ARGS__)
#define acp_clear(type, ...) acp_clear_##type(__VA_ARGS__)
#define acp_count(type, ...) acp_count_##type(__VA_ARGS__)
#define acp_create(type, ...) acp_create_##type(__VA_ARGS__)
#define acp_destroy(type, ...) acp_destroy_##type(__VA_ARGS__)
#define acp_empty(type, ...) acp_empty_##type(__VA_ARGS__)
#define acp_end(type, ...) acp_end_##type(__VA_ARGS__)
#define acp_erase(type, ...) acp_erase_##type(__VA_ARGS__)
#define acp_erase_range(type, ...) acp_erase_range_##type(__VA_ARGS__)
#define acp_find(type, ...) acp_find_##type(__VA_ARGS__)
#define acp_front(type, ...) acp_front_##type(__VA_ARGS__)
#define acp_insert(type, ...) acp_insert_##type(__VA_ARGS__)
#define acp_insert_range(type, ...) acp_insert_range_##type(__VA_ARGS__)
#define acp_merge(type, ...) acp_merge_##type(__VA_ARGS__)
#define acp_pop_back(type, ...) acp_pop_back_##type(__VA_ARGS__)
#define acp_pop_front(type, ...) acp_pop_front_##type(__VA_ARGS__)
#define acp_push_back(type, ...) acp_push_back_##type(__VA_ARGS__)
#define acp_push_front(type, ...) acp_push_front_##type(__VA_ARGS__)
#define acp_remove(type, ...) acp_remove_##type(__VA_ARGS__)
#define acp_reserve(type, ...) acp_reserve_##type(__VA_ARGS__)
#define acp_reverse(type, ...) acp_reverse_##type(__VA_ARGS__)
#define acp_size(type, ...) acp_size_##type(__VA_ARGS__)
#define acp_sort(type, ...) acp_sort_##type(__VA_ARGS__)
#define acp_splice(type, ...) acp_splice_##type(__VA_ARGS__)
#define acp_swap(type, ...) acp_swap_##type(__VA_ARGS__)
#define acp_unique(type, ...) acp_unique_##type(__VA_ARGS__)

/* The generic names of ACP 3.0 for iterators: vector_it, deque_it, list_it, set_it, multiset_it,
 * map_it and multimap_it. */
#define acp_advance(type, ...) acp_advance_##type(__VA_ARGS__)
#define acp_decrement(type, ...) acp_decrement_##type(__VA_ARGS__)
#define acp_dereference(type, ...) acp_dereference_##type(__VA_ARGS__)
#define acp_dereference_value(type, ...) acp_dereference_value_##type(__VA_ARGS__)
#define acp_distance(type, ...) acp_distance_##type(__VA_ARGS__)
#define acp_increment(type, ...) acp_increment_##type(__VA_ARGS__)
#define acp_size_value(type, ...) acp_size_value_##type(__VA_ARGS__)

/* For functions for which ACP 3.0 has no macro. */
#define acp_move(type, ...) acp_move_##type(__VA_ARGS__)
#define acp_read(type, ...) acp_read_##type(__VA_ARGS__)
#define acp_remove_all(type, ...) acp_remove_all_##type(__VA_ARGS__)
#define acp_retrieve(type, ...) acp_retrieve_##type(__VA_ARGS__)
#define acp_setparams(type, ...) acp_setparams_##type(__VA_ARGS__)
#define acp_splice_range(type, ...) acp_splice_range_##type(__VA_ARGS__)
#define acp_write(type, ...) acp_write_##type(__VA_ARGS__)

/* For functions that ACP 3.0 does not have. acp_read, above, is also for list, vector, deque and
 * multimap_it. */
#define acp_add(type, ...) acp_add_##type(__VA_ARGS__)
#define acp_append(type, ...) acp_append_##type(__VA_ARGS__)
#define acp_compare_exchange(type, ...) acp_compare_exchange_##type(__VA_ARGS__)
#define acp_contains(type, ...) acp_contains_##type(__VA_ARGS__)
#define acp_fetch_add(type, ...) acp_fetch_add_##type(__VA_ARGS__)
#define acp_scan(type, ...) acp_scan_##type(__VA_ARGS__)
#define acp_for_each_local(type, ...) acp_for_each_local_##type(__VA_ARGS__)
#define acp_increment_key(type, ...) acp_increment_key_##type(__VA_ARGS__)
#define acp_insert_if_absent(type, ...) acp_insert_if_absent_##type(__VA_ARGS__)
#define acp_insert_or_assign(type, ...) acp_insert_or_assign_##type(__VA_ARGS__)
#define acp_replace(type, ...) acp_replace_##type(__VA_ARGS__)
#define acp_take_back(type, ...) acp_take_back_##type(__VA_ARGS__)
#define acp_take_front(type, ...) acp_take_front_##type(__VA_ARGS__)

/* For calls on many keys, and for calls that do not wait. */
#define acp_add_many(type, ...) acp_add_many_##type(__VA_ARGS__)
#define acp_assign_many(type, ...) acp_assign_many_##type(__VA_ARGS__)
#define acp_fetch_add_many(type, ...) acp_fetch_add_many_##type(__VA_ARGS__)
#define acp_find_many(type, ...) acp_find_many_##type(__VA_ARGS__)
#define acp_insert_many(type, ...) acp_insert_many_##type(__VA_ARGS__)
#define acp_remove_many(type, ...) acp_remove_many_##type(__VA_ARGS__)
#define acp_start_assign(type, ...) acp_start_assign_##type(__VA_ARGS__)
#define acp_start_fetch_add(type, ...) acp_start_fetch_add_##type(__VA_ARGS__)
#define acp_start_insert(type, ...) acp_start_insert_##type(__VA_ARGS__)
#define acp_start_remove(type, ...) acp_start_remove_##type(__VA_ARGS__)
#define acp_start_retrieve(type, ...) acp_start_retrieve_##type(__VA_ARGS__)

/* For acp_create_map_with and the corresponding functions of the other containers. */
#define acp_create_with(type, ...) acp_create_##type##_with(__VA_ARGS__)

#endif
