// SPDX-License-Identifier: BSD-3-Clause
// The table in which a preloaded library counts the copies of a payload: a file that all processes
// of a job map. A rank writes the marker, with which the payload begins; then each copy of bytes
// that contain the marker counts for the process that makes it.
#pragma once

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { marker_bytes = 32, counted_processes_max = 32 };

struct copy_count {
    atomic_int pid;     // 0: the entry is free
    atomic_int copies;  // calls of memcpy and memmove
    // Copies and datagrams whose bytes no counted copy of the process has written: those of the
    // first copy, which reads the caller's memory or an agent's ring, and of one that is made by
    // other instructions than memcpy.
    atomic_int origins;
};

struct counted_copies {
    atomic_int is_counting;
    unsigned char marker[marker_bytes];
    struct copy_count counts[counted_processes_max];
};

// Maps the file that the environment names. NULL: there is none.
static inline struct counted_copies* open_counted_copies(void) {
    const char* const name = getenv("TEST_COUNTED_COPIES");
    const int file = name == NULL ? -1 : open(name, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    void* const table =
        mmap(NULL, sizeof(struct counted_copies), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return table == MAP_FAILED ? NULL : table;
}

// The entry of a process, which is made if there is none. NULL: all entries are in use.
static inline struct copy_count* copies_of(struct counted_copies* table, int pid) {
    for (int i = 0; i < counted_processes_max; ++i) {
        int known = 0;
        if (atomic_compare_exchange_strong(&table->counts[i].pid, &known, pid) || known == pid)
            return &table->counts[i];
    }
    return NULL;
}
