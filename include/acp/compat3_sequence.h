/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors and deques as ACP 3.0 declared them: the bytes to add lie at a global address, and
 * functions that change a container return nothing. A program that includes this header calls them
 * by the names of 3.0. They behave as 3.0's documentation says, and as <acp/vector.h> and
 * <acp/deque.h> say where that is silent: a failure sets acp_errno() and changes nothing. They
 * ignore ranges of two containers and ranges that end before they begin where 3.0 ignored them. */
#ifndef ACP_COMPAT3_SEQUENCE_H
#define ACP_COMPAT3_SEQUENCE_H

#include <acp/deque.h>
#include <acp/vector.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Add or insert `size` bytes that lie at `ga`, on any rank. */
ACP_API void acp3_push_back_vector(acp_vector_t vector, const acp_ga_t ga, size_t size);
ACP_API acp_vector_it_t acp3_insert_vector(acp_vector_it_t it, const acp_ga_t ga, size_t size);
ACP_API void acp3_push_back_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);
ACP_API void acp3_push_front_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);
ACP_API acp_deque_it_t acp3_insert_deque(acp_deque_it_t it, const acp_ga_t ga, size_t size);

/* The functions without the 3, except that they ignore ranges of two containers and ranges that end
 * before they begin. With an empty range assign_range empties the container; the other functions do
 * nothing, and erase_range and acp3_insert_range_deque return `end`. */
ACP_API void acp3_assign_range_vector(acp_vector_t vector,
                                      acp_vector_it_t start,
                                      acp_vector_it_t end);
ACP_API acp_vector_it_t acp3_insert_range_vector(acp_vector_it_t it,
                                                 acp_vector_it_t start,
                                                 acp_vector_it_t end);
ACP_API acp_vector_it_t acp3_erase_range_vector(acp_vector_it_t start, acp_vector_it_t end);
ACP_API acp_vector_it_t acp3_erase_vector(acp_vector_it_t it, size_t size);
ACP_API void acp3_assign_range_deque(acp_deque_t deque, acp_deque_it_t start, acp_deque_it_t end);
ACP_API acp_deque_it_t acp3_insert_range_deque(acp_deque_it_t it,
                                               acp_deque_it_t start,
                                               acp_deque_it_t end);
ACP_API acp_deque_it_t acp3_erase_range_deque(acp_deque_it_t start, acp_deque_it_t end);
ACP_API acp_deque_it_t acp3_erase_deque(acp_deque_it_t it, size_t size);

#ifdef __cplusplus
}
#endif

/* The functions without the 3, except that only acp_errno() shows a failure: sizes and capacities
 * are 0 then, and acp3_empty_... returns 1. */
static inline size_t acp3_size_vector(acp_vector_t vector) {
    const size_t bytes = acp_size_vector(vector);
    return bytes == SIZE_MAX ? 0 : bytes;
}

static inline size_t acp3_capacity_vector(acp_vector_t vector) {
    const size_t bytes = acp_capacity_vector(vector);
    return bytes == SIZE_MAX ? 0 : bytes;
}

static inline int acp3_empty_vector(acp_vector_t vector) {
    return acp_empty_vector(vector) == 0 ? 0 : 1;
}

static inline size_t acp3_size_deque(acp_deque_t deque) {
    const size_t bytes = acp_size_deque(deque);
    return bytes == SIZE_MAX ? 0 : bytes;
}

static inline size_t acp3_capacity_deque(acp_deque_t deque) {
    const size_t bytes = acp_capacity_deque(deque);
    return bytes == SIZE_MAX ? 0 : bytes;
}

static inline int acp3_empty_deque(acp_deque_t deque) {
    return acp_empty_deque(deque) == 0 ? 0 : 1;
}

#ifndef ACP_COMPAT3_KEEPS_NAMES
#define acp_size_vector acp3_size_vector
#define acp_capacity_vector acp3_capacity_vector
#define acp_empty_vector acp3_empty_vector
#define acp_size_deque acp3_size_deque
#define acp_capacity_deque acp3_capacity_deque
#define acp_empty_deque acp3_empty_deque
#define acp_push_back_vector acp3_push_back_vector
#define acp_insert_vector acp3_insert_vector
#define acp_insert_range_vector acp3_insert_range_vector
#define acp_assign_range_vector acp3_assign_range_vector
#define acp_erase_vector acp3_erase_vector
#define acp_erase_range_vector acp3_erase_range_vector
#define acp_push_back_deque acp3_push_back_deque
#define acp_push_front_deque acp3_push_front_deque
#define acp_insert_deque acp3_insert_deque
#define acp_insert_range_deque acp3_insert_range_deque
#define acp_assign_range_deque acp3_assign_range_deque
#define acp_erase_deque acp3_erase_deque
#define acp_erase_range_deque acp3_erase_range_deque
#endif

#endif
