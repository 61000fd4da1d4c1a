/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels as ACP 3.0 documented them: acp_wait_ch returns the length of the buffer when the
 * message was longer, which is a failure in <acp/channel.h>; and acp_waitall_ch takes a pointer to
 * non-const requests. A program that includes this header calls both by the names of 3.0.
 * Everything else is as in <acp/channel.h>. */
#ifndef ACP_COMPAT3_CHANNEL_H
#define ACP_COMPAT3_CHANNEL_H

#include <acp/channel.h>

#ifdef __cplusplus
extern "C" {
#endif

ACP_API size_t acp3_wait_ch(acp_request_t request);
ACP_API int acp3_waitall_ch(acp_request_t* requests, int count, size_t* sizes);

#ifdef __cplusplus
}
#endif

#ifndef ACP_COMPAT3_KEEPS_NAMES
#define acp_wait_ch acp3_wait_ch
#define acp_waitall_ch acp3_waitall_ch
#endif

#endif
