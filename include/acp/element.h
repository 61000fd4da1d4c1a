/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes at a global address: where iterators of containers find an element. */
#ifndef ACP_ELEMENT_H
#define ACP_ELEMENT_H

#include <stddef.h>

#include <acp/memory.h>

/* `size` bytes at `ga`; no element: ACP_GA_NULL and 0. */
typedef struct {
    acp_ga_t ga;
    size_t size;
} acp_element_t;

/* Two elements: key and value of an entry, or the two pieces of a range that wraps around. */
typedef struct {
    acp_element_t first;
    acp_element_t second;
} acp_pair_t;

#endif
