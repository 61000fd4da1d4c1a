/* SPDX-License-Identifier: BSD-3-Clause */
/* Segmented buffers as ACP 3.0 documented them: these calls return 1 after a failure, where those of <acp/segbuf.h> return -1. A program
 * that includes this header calls them by the names of 3.0. All else is as in <acp/segbuf.h>. */
#ifndef ACP_COMPAT3_SEGBUF_H
#define ACP_COMPAT3_SEGBUF_H

#include <acp/segbuf.h>

#ifdef __cplusplus
extern "C" {
#endif

ACP_API int acp3_connect_segbuf(acp_segbuf_t segbuf);
ACP_API int acp3_ready_segbuf(acp_segbuf_t segbuf);
ACP_API int acp3_ack_segbuf(acp_segbuf_t segbuf);
ACP_API int acp3_disconnect_segbuf(acp_segbuf_t segbuf);
ACP_API int acp3_free_segbuf(acp_segbuf_t segbuf);

#ifdef __cplusplus
}
#endif

#ifndef ACP_COMPAT3_KEEPS_NAMES
#define acp_connect_segbuf acp3_connect_segbuf
#define acp_ready_segbuf acp3_ready_segbuf
#define acp_ack_segbuf acp3_ack_segbuf
#define acp_disconnect_segbuf acp3_disconnect_segbuf
#define acp_free_segbuf acp3_free_segbuf
#endif

#endif
