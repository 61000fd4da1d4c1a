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
    ACP_ERR_ARGUMENT = 1, /* an argument is outside its documented range */
    ACP_ERR_ADDRESS = 2,  /* a global address is null, wild, or the access leaves its segment */
    ACP_ERR_STALE =
        3, /* what is named is gone: memory unregistered; a container, channel, request, team or iterator freed or ended */
    ACP_ERR_ALIGNMENT = 4, /* an atomic's address is not a multiple of its width */
    ACP_ERR_ORDER = 5,     /* not run: it was ordered after a command that failed */
    ACP_ERR_PEER = 6,      /* a process needed for this is dead; the message names it */
    ACP_ERR_TIMEOUT = 7, /* acp_wait's time is over (by how much: see there); the command goes on */
    ACP_ERR_INTERRUPTED = 8, /* a signal handler ran during acp_wait; the command goes on */
    ACP_ERR_MEMORY = 9,      /* memory is short: the message says requested, free and limit */
    ACP_ERR_LIMIT = 10,      /* a stated maximum of ACP or of the system is reached */
    ACP_ERR_STATE = 11,      /* before acp_init, after acp_finalize, or a second acp_init */
    ACP_ERR_FORKED = 12,     /* in a forked child, which may only exec or _exit */
    ACP_ERR_CONFIG = 13,     /* a configuration value does not parse or does not fit */
    ACP_ERR_SYSTEM = 14,     /* a system call failed; the message names it and its errno */
    ACP_ERR_MISMATCH =
        15, /* members of a team or ranks have called different things, or use different builds of ACP */
    ACP_ERR_UNSUPPORTED = 16, /* not possible on this machine or with this configuration */
    ACP_ERR_TRUNCATED =
        17 /* a message or list element was longer than the buffer for it; the rest is lost */
};

/* What a call returns that was asked for something that is not there: no failure. An int64_t or int
 * of such a call has three kinds of results: 0 and more, ACP_NONE, and -1 for a failure. */
enum { ACP_NONE = -2 };

/* The code of this thread's last failed call, ACP_OK when none failed yet or since acp_clear_errno.
 * A successful call does not change it. Does not block. Any state. */
ACP_API int acp_errno(void);

/* Forgets this thread's last failure: acp_errno() is ACP_OK and acp_error_message() "". Only the
 * acp_fetch_... atomics need it: every value may be their result, so a program that runs with
 * ACP_ON_ERROR=return calls this before them and acp_errno() after them. Every other call tells a
 * failure by its result. Does not block. Any state. */
ACP_API void acp_clear_errno(void);

/* The text of this thread's last failure: what failed, the value seen, rank and host, what to do.
 * Owned by the library, valid until this thread's next failure. "" when none. Any state. */
ACP_API const char* acp_error_message(void);

/* A short English phrase for a code, "unknown error" for others; static text. Any state. */
ACP_API const char* acp_strerror(int code);

#ifdef __cplusplus
}
#endif

#endif
