/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles of commands as Python objects, and the buffers that commands in flight use. All functions
 * run with the interpreter's lock. */
#ifndef ACP_PYTHON_HANDLE_H
#define ACP_PYTHON_HANDLE_H

#include "job.h"

/* The buffer of a command that may be in flight. Its Python object is kept, and may not be resized,
 * until the command is complete. */
typedef struct Pending {
    Py_buffer buffer;
    acp_handle_t handle;
    struct Pending* next;
} Pending;

/* The buffer of an object, contiguous, and writable where `flags` is PyBUF_WRITABLE. NULL with
 * TypeError or BufferError. */
Pending* new_pending(PyObject* object, int flags);
void delete_pending(Pending* pending);

/* The Python object of a command that was just issued. Takes `pending` (NULL: no buffer), and keeps
 * it while the command is in flight. `handle` ACP_HANDLE_NULL raises the failure of the call. */
PyObject* new_handle(acp_handle_t handle, Pending* pending);

/* Releases buffers of complete commands whose Handle objects are gone; `all`: of all, after
 * acp_finalize, which has completed them. */
void release_orphans(bool all);

/* The order that the argument `after` asks for: NULL and None: no command. -1 with TypeError. */
int take_order(PyObject* object, acp_handle_t* order);

/* Whether the call that issues a command of `bytes` bytes may block or take long: then it runs
 * without the interpreter's lock. Counts the command. */
bool shall_unlock(size_t bytes);

int add_handle(PyObject* module);

#endif
