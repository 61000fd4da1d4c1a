/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists as ACP 3.0 declared them: the bytes to insert lie at a global address. A program that
 * includes this header calls these functions by the names of 3.0. They behave as 3.0's
 * documentation says, and as <acp/list.h> says where that is silent: a failure sets acp_errno() and
 * changes nothing. */
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

/* The place n places further on; for n <= 0 the same place. */
ACP_API acp_list_it_t acp3_advance_list_it(acp_list_it_t it, int n);

/* acp_distance_list_it, except that it returns 0 when the iterators are of different lists. */
ACP_API int acp3_distance_list_it(acp_list_it_t first, acp_list_it_t last);

#ifdef __cplusplus
}
#endif

/* The functions without the 3, except that only acp_errno() shows a failure: acp3_size_list returns
 * 0 then, and acp3_empty_list 1. */
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
