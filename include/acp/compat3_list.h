/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists as ACP 3.0 declared them: what is put in lies at a global address. A program that includes
 * this header calls these functions by the names of 3.0. They do what 3.0's documentation says;
 * what it leaves open is as in <acp/list.h>: failures are told by acp_errno(), and change
 * nothing. */
#ifndef ACP_COMPAT3_LIST_H
#define ACP_COMPAT3_LIST_H

#include <acp/list.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Add or insert a copy of elem.size bytes that lie at elem.ga, on any rank. */
ACP_API void acp3_push_back_list(acp_list_t list, const acp_element_t elem, int rank);
ACP_API void acp3_push_front_list(acp_list_t list, const acp_element_t elem, int rank);
ACP_API acp_list_it_t acp3_insert_list(acp_list_it_t it, const acp_element_t elem, int rank);

/* Removes every element that has the bytes of elem. */
ACP_API void acp3_remove_list(acp_list_t list, const acp_element_t elem);

/* n places on; n <= 0: none. */
ACP_API acp_list_it_t acp3_advance_list_it(acp_list_it_t it, int n);

/* As acp_distance_list_it, but 0 where the iterators are of different lists. */
ACP_API int acp3_distance_list_it(acp_list_it_t first, acp_list_it_t last);

#ifdef __cplusplus
}
#endif

/* As the functions without the 3, but that a failure is told by acp_errno() alone: the size is 0
 * then, and the list is empty. */
static inline size_t acp3_size_list(acp_list_t list) {
    const size_t elements = acp_size_list(list);
    return elements == SIZE_MAX ? 0 : elements;
}

static inline int acp3_empty_list(acp_list_t list) {
    return acp_empty_list(list) == 0 ? 0 : 1;
}

#ifndef ACP_COMPAT3_KEEPS_NAMES
#define acp_size_list acp3_size_list
#define acp_empty_list acp3_empty_list
#define acp_push_back_list acp3_push_back_list
#define acp_push_front_list acp3_push_front_list
#define acp_insert_list acp3_insert_list
#define acp_remove_list acp3_remove_list
#define acp_advance_list_it acp3_advance_list_it
#define acp_distance_list_it acp3_distance_list_it
#endif

#endif
