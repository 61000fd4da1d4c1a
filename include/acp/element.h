/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes in global memory, as containers take and give them. */
#ifndef ACP_ELEMENT_H
#define ACP_ELEMENT_H

#include <stddef.h>

#include <acp/memory.h>

/* `size` bytes from the global address `ga`. */
typedef struct {
    acp_ga_t ga;
    size_t size;
} acp_element_t;

/* Two of them: a key and a value, or two pieces of one content. */
typedef struct {
    acp_element_t first;
    acp_element_t second;
} acp_pair_t;

#endif
