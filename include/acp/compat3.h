/* SPDX-License-Identifier: BSD-3-Clause */
/* What ACP 3.0 declared otherwise: containers, whose keys, values and elements were named by global addresses, and the failures of
 * segmented buffers. acp.h includes this header where ACP_COMPAT3 is defined, as `acpcc -compat3` does; then a source of 3.0 compiles
 * unchanged. All other functions of acp.h are there too, as channels, which take what they took; and one program may have sources of
 * both kinds. */
#ifndef ACP_COMPAT3_H
#define ACP_COMPAT3_H

#include <acp/compat3_hashed.h>
#include <acp/compat3_list.h>
#include <acp/compat3_segbuf.h>
#include <acp/compat3_sequence.h>

#endif
