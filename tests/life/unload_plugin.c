// SPDX-License-Identifier: BSD-3-Clause
// A plugin that uses ACP: once linked to libacp.so, and once with libacp.a inside.
#include <stdint.h>

#include <acp.h>

int plugin_join(void);
int plugin_use(void);
int plugin_leave(void);
const char* plugin_reason(void);

int plugin_join(void) {
    return acp_init(0, 0);
}

// 0: bytes were copied, a block was allocated and freed, and a word was changed.
int plugin_use(void) {
    const acp_ga_t words = acp_query_starter_ga(acp_rank());
    const acp_ga_t block = acp_malloc(1000, acp_rank());
    if (block == ACP_GA_NULL) return 1;
    acp_handle_t last = acp_copy(block, words, 8, ACP_HANDLE_NULL);
    last = acp_add8(words + 8, words, 1, last);
    if (acp_wait(last, -1) != ACP_OK) return 2;
    acp_free(block);
    return 0;
}

int plugin_leave(void) {
    return acp_finalize();
}

const char* plugin_reason(void) {
    return acp_error_message();
}
