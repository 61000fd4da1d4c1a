/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors and deques as ACP 3.0 declared them: what is added lies at a global address, and
 * functions that change a container return nothing. A program that includes this header calls them
 * by the names of 3.0. They do what 3.0's documentation says; what it leaves open is as in
 * <acp/vector.h> and <acp/deque.h>: failures are told by acp_errno(), and change nothing. Where 3.0
 * ignored ranges of two containers and ranges that end before they begin, so do these. */
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

/* As the functions without the 3, but that ranges of two containers and those that end before they
 * begin are ignored. An empty one makes assign_range empty the container; the others do nothing,
 * and erase_range and acp3_insert_range_deque return `end` then. */
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

/* As the functions without the 3, but that a failure is told by acp_errno() alone: sizes are 0
 * then, and a container is empty. */
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
