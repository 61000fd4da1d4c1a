/* SPDX-License-Identifier: BSD-3-Clause */
/* Segmented buffers as ACP 3.0 documented them: acp_create_src_segbuf takes a pointer to non-const
 * memory; the calls of type int return 1 after a failure, where those of <acp/segbuf.h> return -1;
 * and the queries return places in the buffer, where those of <acp/segbuf.h> return counts. A
 * program that includes this header calls them by the names of 3.0. Everything else is as in
 * <acp/segbuf.h>. */
#ifndef ACP_COMPAT3_SEGBUF_H
#define ACP_COMPAT3_SEGBUF_H

#include <acp/segbuf.h>

#ifdef __cplusplus
extern "C" {
#endif

ACP_API acp_segbuf_t acp3_create_src_segbuf(int dst_rank, void* buf, size_t segsize, size_t segnum);
ACP_API int acp3_connect_segbuf(acp_segbuf_t segbuf);
ACP_API int acp3_ready_segbuf(acp_segbuf_t segbuf);
ACP_API int acp3_ack_segbuf(acp_segbuf_t segbuf);
ACP_API int acp3_disconnect_segbuf(acp_segbuf_t segbuf);
ACP_API int acp3_free_segbuf(acp_segbuf_t segbuf);

/* The results of the functions without the 3, modulo segnum: the place of the segment in the
 * buffer; -1 after a failure. */
ACP_API int64_t acp3_query_segbuf_head(acp_segbuf_t segbuf);
ACP_API int64_t acp3_query_segbuf_tail(acp_segbuf_t segbuf);
ACP_API int64_t acp3_query_segbuf_sent(acp_segbuf_t segbuf);

#ifdef __cplusplus
}
#endif

#ifndef ACP_COMPAT3_KEEPS_NAMES
#define acp_create_src_segbuf acp3_create_src_segbuf
#define acp_connect_segbuf acp3_connect_segbuf
#define acp_ready_segbuf acp3_ready_segbuf
#define acp_ack_segbuf acp3_ack_segbuf
#define acp_disconnect_segbuf acp3_disconnect_segbuf
#define acp_free_segbuf acp3_free_segbuf
#define acp_query_segbuf_head acp3_query_segbuf_head
#define acp_query_segbuf_tail acp3_query_segbuf_tail
#define acp_query_segbuf_sent acp3_query_segbuf_sent
#endif

#endif
