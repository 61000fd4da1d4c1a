// SPDX-License-Identifier: BSD-3-Clause
// <acp/compat3_segbuf.h>: the present calls, with 1 for a failure.
#define ACP_COMPAT3_KEEPS_NAMES
#include <acp/compat3_segbuf.h>

namespace {

int told(int result) noexcept {
    return result == 0 ? 0 : 1;
}

}  // namespace

extern "C" {

acp_segbuf_t acp3_create_src_segbuf(int dst_rank, void* buf, size_t segsize, size_t segnum) {
    return acp_create_src_segbuf(dst_rank, buf, segsize, segnum);
}

int acp3_connect_segbuf(acp_segbuf_t segbuf) {
    return told(acp_connect_segbuf(segbuf));
}

int acp3_ready_segbuf(acp_segbuf_t segbuf) {
    return told(acp_ready_segbuf(segbuf));
}

int acp3_ack_segbuf(acp_segbuf_t segbuf) {
    return told(acp_ack_segbuf(segbuf));
}

int acp3_disconnect_segbuf(acp_segbuf_t segbuf) {
    return told(acp_disconnect_segbuf(segbuf));
}

int acp3_free_segbuf(acp_segbuf_t segbuf) {
    return told(acp_free_segbuf(segbuf));
}

}  // extern "C"
