/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ACP, Advanced Communication Primitives: one 64-bit global address space over the memories of all
 * processes of a parallel program. This umbrella includes every concern; each header compiles alone
 * as C11 and as C++20. Conventions that hold for every call:
 *
 *   results   the result alone says whether a call failed: an int or size is -1, an address, key or
 *             pointer is null; then acp_errno() is set. acp_errors(7) has the table; codes are in
 *             <acp/error.h>.
 *   threads   any thread may make every call unless its comment says otherwise; no call is
 *             async-signal-safe (but see acp(7) on faults of the program's own accesses).
 *   state     before acp_init and after acp_finalize every call but acp_init, acp_version,
 *             acp_initialized, acp_strerror, acp_errno, acp_clear_errno, acp_error_message and
 *             acp_abort fails with ACP_ERR_STATE; in a forked child with ACP_ERR_FORKED.
 */
#ifndef ACP_H
#define ACP_H

#include <acp/access.h>
#include <acp/channel.h>
#include <acp/deque.h>
#include <acp/dsm.h>
#include <acp/element.h>
#include <acp/error.h>
#include <acp/exchange.h>
#include <acp/generic.h>
#include <acp/hashed.h>
#include <acp/heap.h>
#include <acp/init.h>
#include <acp/list.h>
#include <acp/lock.h>
#include <acp/map.h>
#include <acp/memory.h>
#include <acp/multimap.h>
#include <acp/multiset.h>
#include <acp/pm.h>
#include <acp/segbuf.h>
#include <acp/set.h>
#include <acp/team.h>

#ifdef ACP_COMPAT3
#include <acp/compat3.h>
#endif
#include <acp/vector.h>
#include <acp/version.h>
#include <acp/workspace.h>

#endif
