/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles: waiting for commands, and keeping their buffers until then. */
#include "handle.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    PyObject_HEAD acp_handle_t handle;
    unsigned epoch; /* 0: of every epoch */
    Pending* pending;
} Handle;

static PyTypeObject* handle_type;
static PyObject* await_function;
static Pending* orphans; /* the Handle that ended first is the first */
static Pending* spare;
static int spares;

enum { SPARES_MAX = 64 };

static const int64_t slice_ns = 100 * 1000 * 1000;  /* a waiting call looks for ^C this often */
static const size_t unlocked_bytes_min = 16 * 1024; /* a copy of fewer takes about a microsecond */
static const Py_ssize_t issued_max = 1 << 15; /* half of what acp_copy takes without blocking */

Pending* new_pending(PyObject* object, int flags) {
    Pending* pending = spare;
    if (pending != NULL) {
        spare = pending->next;
        --spares;
    } else if ((pending = malloc(sizeof(Pending))) == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (PyObject_GetBuffer(object, &pending->buffer, flags) != 0) {
        pending->next = spare;
        spare = pending;
        ++spares;
        return NULL;
    }
    return pending;
}

void delete_pending(Pending* pending) {
    PyBuffer_Release(&pending->buffer);
    if (spares < SPARES_MAX) {
        pending->next = spare;
        spare = pending;
        ++spares;
    } else {
        free(pending);
    }
}

void release_orphans(bool all) {
    while (orphans != NULL && (all || acp_inquire(orphans->handle) != 1)) {
        Pending* const first = orphans;
        orphans = first->next; /* unlinked first: releasing may run code that calls this again */
        delete_pending(first);
    }
}

static void add_orphan(Pending* pending) {
    Pending** end = &orphans;
    while (*end != NULL) end = &(*end)->next;
    pending->next = NULL;
    *end = pending;
}

bool shall_unlock(size_t bytes) {
    if (job.issued >= issued_max && acp_inquire(ACP_HANDLE_ALL) == 0) job.issued = 0;
    ++job.issued;
    return bytes >= unlocked_bytes_min || job.issued > issued_max;
}

PyObject* new_handle(acp_handle_t handle, Pending* pending) {
    Handle* self = NULL;
    if (handle == ACP_HANDLE_NULL) {
        raise_last();
    } else if ((self = PyObject_New(Handle, handle_type)) != NULL) {
        self->handle = handle;
        self->epoch = job.epoch;
        self->pending = NULL;
    }
    if (orphans != NULL) release_orphans(false);
    if (pending != NULL) {
        pending->handle = handle;
        if (handle == ACP_HANDLE_NULL || acp_inquire(handle) != 1) {
            delete_pending(pending);
        } else if (self != NULL) {
            self->pending = pending;
        } else {
            add_orphan(pending);
        }
    }
    return (PyObject*)self;
}

/* Whether the handle may stand for a command in flight: acp4py.finalize() has completed all others. */
static bool is_current(const Handle* self) {
    return self->epoch == 0 || (self->epoch == job.epoch && job.state != JOB_LEFT);
}

int take_order(PyObject* object, acp_handle_t* order) {
    *order = ACP_HANDLE_NULL;
    if (object == NULL || object == Py_None) return 0;
    if (Py_TYPE(object) != handle_type) {
        PyErr_Format(PyExc_TypeError, "after is a Handle or None, not %R",
                     (PyObject*)Py_TYPE(object));
        return -1;
    }
    const Handle* handle = (const Handle*)object;
    if (is_current(handle)) *order = handle->handle; /* commands of an earlier epoch are complete */
    return 0;
}

static void forget_pending(Handle* self) {
    Pending* const pending = self->pending;
    self->pending = NULL;
    if (pending != NULL) delete_pending(pending);
}

static void handle_dealloc(PyObject* object) {
    Handle* self = (Handle*)object;
    PyTypeObject* type = Py_TYPE(object);
    Pending* const pending = self->pending;
    if (pending != NULL) {
        self->pending = NULL;
        const bool in_flight = self->epoch == job.epoch && job.state != JOB_LEFT &&
                               (job.state != JOB_JOINED || acp_inquire(self->handle) == 1);
        if (in_flight) {
            add_orphan(pending);
        } else {
            delete_pending(pending);
        }
    }
    PyObject_Free(object);
    Py_DECREF(type);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Waits without the interpreter's lock until the command is complete, `end` (< 0: never) has come,
 * or a signal handler of Python raises, which is -1. Else returns the code. */
static int wait_sliced(acp_handle_t handle, int64_t end) {
    for (;;) {
        int64_t limit = slice_ns;
        if (end >= 0) {
            const int64_t rest = end - now_ns();
            limit = rest < 0 ? 0 : rest < slice_ns ? rest : slice_ns;
        }
        int code = ACP_OK;
        WITHOUT_LOCK(code = acp_wait(handle, limit));
        if (code != ACP_ERR_TIMEOUT && code != ACP_ERR_INTERRUPTED) return code;
        if (PyErr_CheckSignals() != 0) return -1;
        if (code == ACP_ERR_TIMEOUT && end >= 0 && now_ns() >= end) return code;
    }
}

static int wait_for(acp_handle_t handle, int64_t end) {
    if (acp_inquire(handle) == 0) return acp_wait(handle, 0);
    ++job.calls; /* also while signal handlers run: none of them may leave the job */
    const int code = wait_sliced(handle, end);
    --job.calls;
    return code;
}

static const char* const wait_names[] = {"timeout", NULL};
static const Signature wait_signature = {"wait", wait_names, 0};

static PyObject* handle_wait(PyObject* object,
                             PyObject* const* arguments,
                             Py_ssize_t count,
                             PyObject* names) {
    Handle* self = (Handle*)object;
    PyObject* timeout = NULL;
    int64_t end = -1;
    if (take_arguments(&wait_signature, arguments, count, names, &timeout) != 0) return NULL;
    if (timeout != NULL && timeout != Py_None) {
        const double seconds = PyFloat_AsDouble(timeout);
        if (seconds == -1.0 && PyErr_Occurred()) return NULL;
        if (!(seconds >= 0)) return PyErr_Format(PyExc_ValueError, "timeout is seconds, 0 or more");
        if (seconds < 1e9) end = now_ns() + (int64_t)(seconds * 1e9);
    }
    if (!is_current(self)) { /* finalize() has completed it */
        forget_pending(self);
        Py_RETURN_NONE;
    }
    if (require_job() != 0) return NULL;
    const int code = wait_for(self->handle, end);
    if (code == -1) return NULL;
    if (self->pending != NULL && acp_inquire(self->handle) != 1) forget_pending(self);
    if (orphans != NULL) release_orphans(false);
    return code == ACP_OK ? Py_NewRef(Py_None) : raise_code(code, NULL);
}

static PyObject* handle_done(PyObject* object, PyObject* unused) {
    (void)unused;
    Handle* self = (Handle*)object;
    if (is_current(self)) {
        if (require_job() != 0) return NULL;
        if (acp_inquire(self->handle) == 1) Py_RETURN_FALSE;
    }
    forget_pending(self);
    if (orphans != NULL && job.state == JOB_JOINED) release_orphans(false);
    Py_RETURN_TRUE;
}

static PyObject* handle_await(PyObject* object) {
    if (await_function == NULL)
        return PyErr_Format(PyExc_RuntimeError, "import acp4py, not acp4py._acp");
    return PyObject_CallFunctionObjArgs(await_function, object, NULL);
}

static PyObject* set_await(PyObject* module, PyObject* function) {
    (void)module;
    Py_XDECREF(await_function);
    await_function = Py_NewRef(function);
    Py_RETURN_NONE;
}

static PyMethodDef handle_methods[] = {
    {"wait", (PyCFunction)(void (*)(void))handle_wait, METH_FASTCALL | METH_KEYWORDS,
     "wait(timeout=None) -> None\n\nWaits until this command and all that the process issued "
     "before it are complete.\n"
     "timeout: seconds, 0 polls, None waits for ever. Raises the first failure among these "
     "commands that no wait has\n"
     "raised: AddressError, StaleError, PeerError, or Error; acp4py.TimeoutError after the time. "
     "Blocks without the GIL;\n"
     "^C ends it within 0.1 s, and the command goes on."},
    {"done", handle_done, METH_NOARGS,
     "done() -> bool\n\nWhether this command and all earlier ones are complete; a failed command "
     "is. Does not block."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot handle_slots[] = {
    {Py_tp_doc,
     "A command that was issued: put, get or copy. Made by these functions alone; may be awaited "
     "in asyncio."},
    {Py_tp_dealloc, (void*)handle_dealloc},
    {Py_tp_methods, handle_methods},
    {Py_am_await, (void*)handle_await},
    {0, NULL},
};

static PyType_Spec handle_spec = {
    .name = "acp4py.Handle",
    .basicsize = sizeof(Handle),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = handle_slots,
};

static PyMethodDef functions[] = {
    {"set_await", set_await, METH_O, "What awaits a handle."},
    {NULL, NULL, 0, NULL},
};

int add_handle(PyObject* module) {
    handle_type = (PyTypeObject*)PyType_FromSpec(&handle_spec);
    if (handle_type == NULL || PyModule_AddObjectRef(module, "Handle", (PyObject*)handle_type) != 0)
        return -1;
    Handle* every = PyObject_New(Handle, handle_type);
    if (every == NULL) return -1;
    every->handle = ACP_HANDLE_ALL;
    every->epoch = 0;
    every->pending = NULL;
    const int result = PyModule_AddObjectRef(module, "ALL", (PyObject*)every);
    Py_DECREF(every);
    return result == 0 ? PyModule_AddFunctions(module, functions) : -1;
}
