/* SPDX-License-Identifier: BSD-3-Clause */
/* What ACP 3.0 declared otherwise: containers, whose keys, values and elements were named by global
 * addresses, the failures of segmented buffers, and messages longer than their buffers. acp.h
 * includes this header where ACP_COMPAT3 is defined, as `acpcc -compat3` does; then a source of 3.0
 * compiles unchanged. All other functions of acp.h are there too; and one program may have sources
 * of both kinds. */
#ifndef ACP_COMPAT3_H
#define ACP_COMPAT3_H

#include <acp/compat3_channel.h>
#include <acp/compat3_hashed.h>
#include <acp/compat3_list.h>
#include <acp/compat3_segbuf.h>
#include <acp/compat3_sequence.h>

#endif
