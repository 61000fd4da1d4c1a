/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that ACP 3.0 declared in another way: containers with keys, values and elements at
 * global addresses, the failures of segmented buffers, and messages longer than their buffers.
 * acp.h includes this header when ACP_COMPAT3 is defined, as `acpcc -compat3` does; then a source
 * of 3.0 compiles unchanged. All other functions of acp.h stay available, and one program may have
 * sources of both kinds. */
#ifndef ACP_COMPAT3_H
#define ACP_COMPAT3_H

#include <acp/compat3_channel.h>
#include <acp/compat3_hashed.h>
#include <acp/compat3_list.h>
#include <acp/compat3_segbuf.h>
#include <acp/compat3_sequence.h>

#endif
