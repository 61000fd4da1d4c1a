// SPDX-License-Identifier: BSD-3-Clause
// acp.h compiles alone, first and without other headers, as C++20; its constants have the
// documented values.
#include <acp.h>

static_assert(sizeof(acp_ga_t) == 8 && sizeof(acp_atkey_t) == 8 && sizeof(acp_handle_t) == 8);
static_assert(ACP_GA_NULL == 0 && ACP_ATKEY_NULL == 0 && ACP_HANDLE_NULL == 0);
static_assert(ACP_HANDLE_ALL == -1 && ACP_HANDLE_CONT == -2);
static_assert(ACP_OK == 0 && ACP_ERR_UNSUPPORTED == 16 && ACP_ERR_EXCEPTION == 19);

const char* acp_test_version_seen_by_cpp();

const char* acp_test_version_seen_by_cpp() {
    return acp_version();
}
