/* SPDX-License-Identifier: BSD-3-Clause */
/* Joining and leaving the job, and the calls of all ranks together. Knows no memory and no
 * container. */
#include "job.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"

Job job;

static const int64_t slice_ns = 100 * 1000 * 1000; /* a waiting call looks for ^C this often */

static void mark_forked(void) {
    if (job.state == JOB_JOINED || job.state == JOB_CHANGING) job.state = JOB_FORKED;
}

int require_job(void) {
    switch (job.state) {
        case JOB_JOINED:
            return 0;
        case JOB_FORKED:
            raise_code(ACP_ERR_FORKED, "this process was forked from a rank, and is none itself");
            return -1;
        case JOB_CHANGING:
            raise_code(ACP_ERR_STATE, "another thread is in acp4py.init() or acp4py.finalize()");
            return -1;
        case JOB_LEFT:
            raise_code(ACP_ERR_STATE, "the process has left the job: acp4py.finalize() was called");
            return -1;
        default:
            raise_code(ACP_ERR_STATE, "the process has not joined a job: call acp4py.init() first");
            return -1;
    }
}

/* The words of a list as C strings, with one more word before them that makes every failure of the
 * library a result. NULL with an exception; the caller frees the array with free_words. */
static void free_words(char** words) {
    for (char** word = words; word != NULL && *word != NULL; ++word) free(*word);
    free(words);
}

static char** words_of(PyObject* list) {
    const Py_ssize_t count = PyList_Size(list);
    if (count < 0) return NULL;
    char** words = calloc((size_t)count + 3, sizeof(char*));
    if (words == NULL) return (char**)PyErr_NoMemory();
    words[0] = strdup("python");
    words[1] = strdup("--acp-ON_ERROR=return");
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* bytes = NULL;
        if (!PyUnicode_FSConverter(PyList_GetItem(list, i), &bytes)) {
            free_words(words);
            return NULL;
        }
        words[i + 2] = strdup(PyBytes_AsString(bytes));
        Py_DECREF(bytes);
    }
    for (Py_ssize_t i = 0; i < count + 2; ++i) {
        if (words[i] == NULL) {
            free_words(words);
            return (char**)PyErr_NoMemory();
        }
    }
    return words;
}

/* The words behind the first one, as a list of str. */
static PyObject* list_of(char** words, int count) {
    PyObject* list = PyList_New(0);
    for (int i = 1; list != NULL && i < count; ++i) {
        PyObject* word = PyUnicode_DecodeFSDefault(words[i]);
        if (word == NULL || PyList_Append(list, word) != 0) Py_CLEAR(list);
        Py_XDECREF(word);
    }
    return list;
}

static bool is_one_node(int size) {
    for (int rank = 0; rank < size; ++rank) {
        if (acp_query_address(acp_query_starter_ga(rank)) == NULL) return false;
    }
    return true;
}

static PyObject* job_init(PyObject* module, PyObject* list) {
    (void)module;
    if (job.state == JOB_JOINED) {
        return raise_code(ACP_ERR_STATE, "the process has joined the job already");
    }
    if (job.state == JOB_FORKED || job.state == JOB_CHANGING) {
        require_job();
        return NULL;
    }
    char** words = words_of(list);
    if (words == NULL) return NULL;
    int count = (int)PyList_Size(list) + 2;
    /* the library shortens its copy of the array; the words themselves stay ours */
    char** rest = malloc(((size_t)count + 1) * sizeof(char*));
    if (rest == NULL) {
        free_words(words);
        return PyErr_NoMemory();
    }
    memcpy(rest, words, ((size_t)count + 1) * sizeof(char*));
    const JobState before = job.state;
    job.state = JOB_CHANGING;
    char** kept = rest;
    int result = -1;
    PyThreadState* const thread = PyEval_SaveThread();
    result = acp_init(&count, &kept);
    PyEval_RestoreThread(thread);
    job.state = before;
    PyObject* left = NULL;
    if (result != 0) {
        raise_last();
    } else {
        job.state = JOB_JOINED;
        job.rank = acp_rank();
        job.size = acp_procs();
        job.issued = 0;
        ++job.epoch;
        job.is_one_node = is_one_node(job.size);
        left = list_of(kept, count);
    }
    free(rest);
    free_words(words);
    return left;
}

static PyObject* job_finalize(PyObject* module, PyObject* is_exit) {
    (void)module;
    if (require_job() != 0) return NULL;
    if (job.calls > 0) {
        return raise_code(
            ACP_ERR_STATE,
            "acp4py.finalize() while another thread or a signal handler's caller is in "
            "a call of acp4py");
    }
    const int exiting = PyObject_IsTrue(is_exit);
    if (exiting < 0) return NULL;
    release_orphans(false);
    if (!exiting && job.exports > 0) {
        return PyErr_Format(PyExc_BufferError,
                            "%zd memoryviews or arrays use segments, whose memory ends with "
                            "acp4py.finalize(): release them first",
                            job.exports);
    }
    job.state = JOB_CHANGING;
    int result = -1;
    PyThreadState* const thread = PyEval_SaveThread();
    result = acp_finalize();
    PyEval_RestoreThread(thread);
    job.state = acp_initialized() ? JOB_JOINED : JOB_LEFT;
    if (job.state == JOB_LEFT) release_orphans(true);
    if (result != 0) return raise_last();
    Py_RETURN_NONE;
}

static PyObject* job_is_joined(PyObject* module, PyObject* unused) {
    (void)module;
    (void)unused;
    return PyBool_FromLong(job.state == JOB_JOINED);
}

static PyObject* job_rank(PyObject* module, PyObject* unused) {
    (void)module;
    (void)unused;
    return require_job() == 0 ? PyLong_FromLong(job.rank) : NULL;
}

static PyObject* job_size(PyObject* module, PyObject* unused) {
    (void)module;
    (void)unused;
    return require_job() == 0 ? PyLong_FromLong(job.size) : NULL;
}

static PyObject* job_sync(PyObject* module, PyObject* unused) {
    (void)module;
    (void)unused;
    if (require_job() != 0) return NULL;
    const acp_team_t world = acp_world_team();
    if (world == ACP_TEAM_NULL) return raise_last();
    ++job.calls; /* also while signal handlers run: none of them may leave the job */
    int code = acp_sync_team_timeout(world, 0);
    bool is_interrupted = false;
    while (code == ACP_ERR_TIMEOUT && !is_interrupted) {
        WITHOUT_LOCK(code = acp_sync_team_timeout(world, slice_ns));
        is_interrupted = code == ACP_ERR_TIMEOUT && PyErr_CheckSignals() != 0;
    }
    --job.calls;
    if (is_interrupted) return NULL;
    return code == ACP_OK ? Py_NewRef(Py_None) : raise_code(code, NULL);
}

static PyObject* job_allgather(PyObject* module, PyObject* object) {
    (void)module;
    Py_buffer buffer;
    if (require_job() != 0 || PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) != 0) return NULL;
    const size_t count = (size_t)job.size;
    uint64_t* sizes = calloc(count, sizeof(uint64_t));
    unsigned char* parts = NULL;
    unsigned char* own = NULL;
    PyObject* list = NULL;
    const acp_team_t world = acp_world_team();
    uint64_t size = (uint64_t)buffer.len;
    uint64_t longest = 0;
    int result = -1;
    if (sizes == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    WITHOUT_LOCK(result = acp_allgather_team(world, &size, sizeof(size), sizes));
    if (result != 0) {
        raise_last();
        goto done;
    }
    for (size_t i = 0; i < count; ++i) longest = sizes[i] > longest ? sizes[i] : longest;
    parts = malloc(count * longest + 1);
    own = calloc(1, longest + 1);
    if (parts == NULL || own == NULL) {
        PyErr_NoMemory(); /* the other ranks wait: the exception ends the job */
        goto done;
    }
    if (buffer.len > 0) memcpy(own, buffer.buf, (size_t)buffer.len);
    WITHOUT_LOCK(result = acp_allgather_team(world, own, longest, parts));
    if (result != 0) {
        raise_last();
        goto done;
    }
    list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; ++i) {
        PyObject* part =
            PyBytes_FromStringAndSize((const char*)parts + i * longest, (Py_ssize_t)sizes[i]);
        if (part == NULL || PyList_SetItem(list, (Py_ssize_t)i, part) != 0) Py_CLEAR(list);
    }
done:
    free(own);
    free(parts);
    free(sizes);
    PyBuffer_Release(&buffer);
    return list;
}

static PyObject* job_broadcast(PyObject* module, PyObject* const* arguments, Py_ssize_t count) {
    (void)module;
    int root = 0;
    Py_buffer buffer;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "broadcast takes bytes and a rank");
    if (require_job() != 0 || take_rank(arguments[1], &root) != 0) return NULL;
    if (PyObject_GetBuffer(arguments[0], &buffer, PyBUF_SIMPLE) != 0) return NULL;
    const acp_team_t world = acp_world_team();
    uint64_t size = (uint64_t)buffer.len;
    int result = -1;
    PyObject* bytes = NULL;
    WITHOUT_LOCK(result = acp_broadcast_team(world, &size, sizeof(size), root));
    if (result != 0) {
        raise_last();
    } else {
        bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    }
    if (bytes != NULL) {
        char* room = PyBytes_AsString(bytes);
        if (root == job.rank && size > 0) memcpy(room, buffer.buf, size);
        WITHOUT_LOCK(result = acp_broadcast_team(world, room, size, root));
        if (result != 0) {
            Py_CLEAR(bytes);
            raise_last();
        }
    }
    PyBuffer_Release(&buffer);
    return bytes;
}

static PyObject* job_abort(PyObject* module, PyObject* text) {
    (void)module;
    PyObject* bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    if (bytes == NULL) return NULL;
    acp_clear_errno(); /* the exception is the cause, not the last error of a call */
    acp_abort(PyBytes_AsString(bytes));
    return NULL;
}

static PyObject* job_library(PyObject* module, PyObject* unused) {
    (void)module;
    (void)unused;
    Dl_info info;
    if (dladdr((void*)acp_strerror, &info) == 0 || info.dli_fname == NULL) Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(info.dli_fname);
}

static PyObject* job_version(PyObject* module, PyObject* unused) {
    (void)module;
    (void)unused;
    return PyUnicode_FromString(acp_version());
}

static PyMethodDef methods[] = {
    {"init", job_init, METH_O,
     "Joins the job; takes sys.argv and returns it without ACP's own words."},
    {"finalize", job_finalize, METH_O,
     "Leaves the job; the argument says whether the interpreter ends."},
    {"is_joined", job_is_joined, METH_NOARGS,
     "is_joined() -> bool\n\nWhether calls may run: between init() and finalize(), and not in a "
     "forked child."},
    {"rank", job_rank, METH_NOARGS,
     "rank() -> int\n\nThe caller's rank, 0 .. size() - 1. Does not block."},
    {"size", job_size, METH_NOARGS,
     "size() -> int\n\nThe number of ranks of the job. Does not block."},
    {"sync", job_sync, METH_NOARGS,
     "sync() -> None\n\nBarrier over all ranks. Stores of any rank before it are visible to all "
     "ranks after\n"
     "it; it completes no handle. Blocks; ^C ends the wait, and the rank counts as arrived at this "
     "barrier.\n"
     "PeerError: a rank is dead or lost. StateError: another thread is in a call of all ranks."},
    {"allgather", job_allgather, METH_O, "The bytes of each rank, in their order, on all ranks."},
    {"broadcast", (PyCFunction)(void (*)(void))job_broadcast, METH_FASTCALL,
     "The bytes of one rank, on all ranks."},
    {"abort", job_abort, METH_O,
     "abort(text) -> NoReturn\n\nPrints text on stderr and ends this process by SIGABRT; acprun "
     "ends the job. Any state."},
    {"library", job_library, METH_NOARGS, "The path of libacp as it was loaded."},
    {"version", job_version, METH_NOARGS,
     "version() -> str\n\nThe version of libacp, \"major.minor.patch\". Any state."},
    {NULL, NULL, 0, NULL},
};

int add_job(PyObject* module) {
    if (pthread_atfork(NULL, NULL, mark_forked) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    return PyModule_AddFunctions(module, methods);
}
