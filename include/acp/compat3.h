/* SPDX-License-Identifier: BSD-3-Clause */
/* The containers as ACP 3.0 declared them: keys, values and elements are named by global addresses. acp.h includes this
 * header where ACP_COMPAT3 is defined, as `acpcc -compat3` does; then a source of 3.0 compiles unchanged. All other functions
 * of acp.h are there too, and one program may have sources of both kinds. */
#ifndef ACP_COMPAT3_H
#define ACP_COMPAT3_H

#include <acp/compat3_hashed.h>

/* These come with lists, and with vectors and deques. */
#if defined(__has_include)
#if __has_include(<acp/compat3_list.h>)
#include <acp/compat3_list.h>
#endif
#if __has_include(<acp/compat3_sequence.h>)
#include <acp/compat3_sequence.h>
#endif
#endif

#endif
