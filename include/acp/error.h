/* SPDX-License-Identifier: BSD-3-Clause */
/* Error codes and the calling thread's last failure. Codes are never renumbered. */
#ifndef ACP_ERROR_H
#define ACP_ERROR_H

#include <acp/export.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ACP_OK = 0,
    /* an argument is outside its documented range */
    ACP_ERR_ARGUMENT = 1,
    /* a global address is null, wild, or the access leaves its segment */
    ACP_ERR_ADDRESS = 2,
    /* the memory was unregistered; or the container, channel, team, request or iterator was freed
     * or retired */
    ACP_ERR_STALE = 3,
    /* an atomic's address is not a multiple of its width */
    ACP_ERR_ALIGNMENT = 4,
    /* not run: the command was ordered after a command that failed */
    ACP_ERR_ORDER = 5,
    /* a process needed for this is dead; the message names it */
    ACP_ERR_PEER = 6,
    /* the time limit of a wait has passed (acp_wait says by how much); the command or request is
     * outstanding */
    ACP_ERR_TIMEOUT = 7,
    /* a signal handler ran during acp_wait or acp_wait_word; the command is outstanding */
    ACP_ERR_INTERRUPTED = 8,
    /* memory is short: the message gives requested, free and limit */
    ACP_ERR_MEMORY = 9,
    /* a stated maximum of ACP or of the system is reached */
    ACP_ERR_LIMIT = 10,
    /* the state does not allow the call: before acp_init, after acp_finalize, a second acp_init */
    ACP_ERR_STATE = 11,
    /* in a forked child, which may only exec or _exit */
    ACP_ERR_FORKED = 12,
    /* a configuration value does not parse or does not fit */
    ACP_ERR_CONFIG = 13,
    /* a system call failed; the message names it and its errno */
    ACP_ERR_SYSTEM = 14,
    /* members of a team or ranks made different calls, or ranks use different builds of ACP */
    ACP_ERR_MISMATCH = 15,
    /* not possible on this machine or with this configuration */
    ACP_ERR_UNSUPPORTED = 16,
    /* a message or list element was longer than the buffer for it; the rest is lost */
    ACP_ERR_TRUNCATED = 17,
    /* acp_cancel has cancelled the call before its function had begun */
    ACP_ERR_CANCELLED = 18,
    /* the function of a call was ended by a fault or an exception; its process lives on */
    ACP_ERR_EXCEPTION = 19
};

/* The result of a call that did not find the entry, element or member it was asked for. It is no
 * failure. An int64_t or int of such a call is 0 or more, ACP_NONE, or -1 after a failure. */
enum { ACP_NONE = -2 };

/* The code of this thread's last failed call, ACP_OK when none failed yet or since acp_clear_errno.
 * A successful call does not change it. Does not block. Any state. */
ACP_API int acp_errno(void);

/* Forgets this thread's last failure: acp_errno() is ACP_OK and acp_error_message() "". Only the
 * acp_fetch_... atomics need it: every value may be their result, so a program that runs with
 * ACP_ON_ERROR=return calls this before them and acp_errno() after them. The result of every other
 * call says whether it failed. Does not block. Any state. */
ACP_API void acp_clear_errno(void);

/* The text of this thread's last failure. It names the call that failed, the values seen, rank and
 * host, and a remedy. Owned by the library, valid until this thread's next failure. "" when none.
 * Any state. */
ACP_API const char* acp_error_message(void);

/* A short English phrase for a code, "unknown error" for a number that is no code; static text. Any
 * state. */
ACP_API const char* acp_strerror(int code);

#ifdef __cplusplus
}
#endif

#endif
