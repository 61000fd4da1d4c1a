/* SPDX-License-Identifier: BSD-3-Clause */
/* acp.h compiles alone, first and without other headers, as C11; its constants have the documented values. */
#include <acp.h>

_Static_assert(sizeof(acp_ga_t) == 8 && sizeof(acp_atkey_t) == 8 && sizeof(acp_handle_t) == 8,
               "64 bits each");
_Static_assert(ACP_GA_NULL == 0 && ACP_ATKEY_NULL == 0 && ACP_HANDLE_NULL == 0, "null is zero");
_Static_assert(ACP_HANDLE_ALL == -1 && ACP_HANDLE_CONT == -2, "as in ACP 3.0");
_Static_assert(ACP_OK == 0 && ACP_ERR_UNSUPPORTED == 16, "codes are never renumbered");

const char* acp_test_version_seen_by_c(void);

const char* acp_test_version_seen_by_c(void) {
    return acp_version();
}
