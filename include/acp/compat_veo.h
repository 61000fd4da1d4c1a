/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of functions in device processes under the names of VEO (Vector Engine Offloading, API
 * version 15), for programs that were written for NEC's SX-Aurora TSUBASA. A VE process is a device
 * process here, and an address in it a pointer that is valid in all device processes of the rank and
 * in the rank itself (acp_query_device_pointer). The manual page acp_compat_veo(3) lists all
 * functions of VEO: those that are here, what differs, and those that are refused. With the folder
 * acp/veo in the compiler's search path, `#include <ve_offload.h>` finds this header.
 *
 * Header only, not part of acp.h. The functions are built on <acp/offload.h> alone. The first
 * veo_proc_create joins the job with acp_init unless the program has done so, and then leaves it at
 * exit. Failures set errno, and acp_error_message() has the sentence. Any thread. */
#ifndef ACP_COMPAT_VEO_H
#define ACP_COMPAT_VEO_H

#include <acp/compat_veo_calls.h>
#include <acp/compat_veo_memory.h>
#include <acp/compat_veo_process.h>
#include <acp/compat_veo_refused.h>
#include <acp/compat_veo_state.h>

#endif
