/* SPDX-License-Identifier: BSD-3-Clause */
/* What all parts of the extension share: this process's part in the job, errors, arguments. The
 * variables belong to the interpreter's lock (the GIL): every function here runs with it. */
#ifndef ACP_PYTHON_JOB_H
#define ACP_PYTHON_JOB_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include <acp.h>

typedef enum { JOB_NOT_JOINED, JOB_CHANGING, JOB_JOINED, JOB_LEFT, JOB_FORKED } JobState;

typedef struct {
    JobState state;
    int rank;
    int size;
    /* counts successful acp4py.init() calls; objects of an earlier epoch are refused */
    unsigned epoch;
    /* all ranks are on the caller's node, so no call on a map waits for another process */
    bool is_one_node;
    /* calls of this process that have released the interpreter's lock, or may run signal handlers */
    Py_ssize_t calls;
    /* buffers of segments that Python objects hold */
    Py_ssize_t exports;
    /* commands issued since the last moment at which no command was outstanding, at most */
    Py_ssize_t issued;
} Job;

extern Job job;

/* Runs a statement that may block without the interpreter's lock. */
#define WITHOUT_LOCK(statement)                            \
    do {                                                   \
        ++job.calls;                                       \
        PyThreadState* const saved_ = PyEval_SaveThread(); \
        statement;                                         \
        PyEval_RestoreThread(saved_);                      \
        --job.calls;                                       \
    } while (0)

/* 0 when calls may run, else -1 with StateError. */
int require_job(void);

/* Raises the class of a code with the library's message of this thread's last failure, or with
 * `text` where that is not NULL. Returns NULL. */
PyObject* raise_code(int code, const char* text);

/* raise_code with the code of this thread's last failure. */
PyObject* raise_last(void);

/* Adds the classes of errors, and the functions about the job. -1 after a failure. */
int add_errors(PyObject* module);
int add_job(PyObject* module);

/* The arguments of a METH_FASTCALL | METH_KEYWORDS function.
 *   names     NULL-terminated names of all parameters; each may be given by position or by name
 *   required  how many of them have no default
 *   values    becomes a borrowed reference for each parameter, NULL where none was given
 * Returns 0, or -1 with TypeError. */
typedef struct {
    const char* function;
    const char* const* names;
    Py_ssize_t required;
} Signature;

int take_arguments(const Signature* signature,
                   PyObject* const* arguments,
                   Py_ssize_t count,
                   PyObject* names,
                   PyObject** values);

/* An int of 0 .. 2^64-1 as an address. -1 with TypeError or OverflowError. */
int take_address(PyObject* object, acp_ga_t* address);

/* An int of 0 .. PTRDIFF_MAX as a number of bytes. -1 with TypeError, ValueError or
 * OverflowError. */
int take_bytes(PyObject* object, const char* what, size_t* bytes);

/* A rank of the job; NULL and None: the caller. -1 with TypeError or ValueError. */
int take_rank(PyObject* object, int* rank);

#endif
