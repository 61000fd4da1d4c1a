// SPDX-License-Identifier: BSD-3-Clause
// For LD_PRELOAD: counts the copies of a payload by memcpy() and memmove() (counted_copies.h). A
// datagram whose payload no counted copy has written shows a copy by other instructions. Datagrams
// must not be encrypted.
#define _GNU_SOURCE
#include "counted_copies.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { targets_max = 64 };

static struct counted_copies* table;
// Where the marker lies in the targets of the last copies of this process.
static _Atomic(const unsigned char*) targets[targets_max];
static atomic_uint targets_made;

__attribute__((constructor)) static void open_table(void) {
    table = open_counted_copies();
}

// The first marker in some bytes. NULL: there is none, or no copies are counted.
static const unsigned char* marker_in(const void* bytes, size_t count) {
    if (table == NULL || atomic_load(&table->is_counting) == 0) return NULL;
    const unsigned char* const first = bytes;
    for (size_t at = 0; at + marker_bytes <= count; ++at) {
        size_t same = 0;
        while (same < marker_bytes && first[at + same] == table->marker[same]) ++same;
        if (same == marker_bytes) return first + at;
    }
    return NULL;
}

static int is_copied(const unsigned char* marker) {
    for (int i = 0; i < targets_max; ++i) {
        if (atomic_load(&targets[i]) == marker) return 1;
    }
    return 0;
}

static void count(const unsigned char* marker, int copies) {
    struct copy_count* const own = copies_of(table, getpid());
    if (own == NULL) return;
    atomic_fetch_add(&own->copies, copies);
    if (!is_copied(marker)) atomic_fetch_add(&own->origins, 1);
}

static void count_copy(const void* target, const void* source, size_t bytes) {
    const unsigned char* const marker = marker_in(source, bytes);
    if (marker == NULL) return;
    count(marker, 1);
    const unsigned place = atomic_fetch_add(&targets_made, 1) % targets_max;
    const size_t offset = (size_t)(marker - (const unsigned char*)source);
    atomic_store(&targets[place], (const unsigned char*)target + offset);
}

static void count_sent(const struct msghdr* message) {
    for (size_t i = 0; i < message->msg_iovlen; ++i) {
        const struct iovec* const part = &message->msg_iov[i];
        const unsigned char* const marker = marker_in(part->iov_base, part->iov_len);
        if (marker != NULL) count(marker, 0);
    }
}

// volatile: the compiler must not replace the loop by a call of memmove.
static void move(volatile unsigned char* target,
                 const volatile unsigned char* source,
                 size_t bytes) {
    if (target < source) {
        for (size_t i = 0; i < bytes; ++i) target[i] = source[i];
    } else {
        while (bytes-- > 0) target[bytes] = source[bytes];
    }
}

void* memcpy(void* restrict target, const void* restrict source, size_t bytes) {
    count_copy(target, source, bytes);
    move(target, source, bytes);
    return target;
}

void* memmove(void* target, const void* source, size_t bytes) {
    count_copy(target, source, bytes);
    move(target, source, bytes);
    return target;
}

ssize_t sendto(int socket,
               const void* bytes,
               size_t bytes_count,
               int flags,
               __CONST_SOCKADDR_ARG to,
               socklen_t to_bytes) {
    const unsigned char* const marker = marker_in(bytes, bytes_count);
    if (marker != NULL) count(marker, 0);
    return syscall(SYS_sendto, socket, bytes, bytes_count, flags, to.__sockaddr__, to_bytes);
}

ssize_t sendmsg(int socket, const struct msghdr* message, int flags) {
    count_sent(message);
    return syscall(SYS_sendmsg, socket, message, flags);
}

int sendmmsg(int socket, struct mmsghdr* messages, unsigned messages_count, int flags) {
    for (unsigned i = 0; i < messages_count; ++i) count_sent(&messages[i].msg_hdr);
    return (int)syscall(SYS_sendmmsg, socket, messages, messages_count, flags);
}
