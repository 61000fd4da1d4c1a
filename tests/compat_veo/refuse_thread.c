/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD of acp-worker: the program starts two threads, those that watch its executor and its
 * owner, and the system refuses all further ones. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

typedef int start_thread(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                          const pthread_attr_t* attributes,
                                                          void* (*body)(void*),
                                                          void* argument) {
    static int started = 0;
    void* const symbol = dlsym(RTLD_NEXT, "pthread_create");
    start_thread* next = NULL;
    memcpy(&next, &symbol, sizeof next);
    return started++ < 2 ? next(thread, attributes, body, argument) : EAGAIN;
}
