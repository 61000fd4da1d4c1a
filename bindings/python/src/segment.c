/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments: blocks of heaps that a rank has allocated, and views of such blocks and of starter
 * memory. A block belongs to the job and not to the object: it lives until free() or the end of the
 * job, since other ranks may hold its address. */
#include "segment.h"

#include "handle.h"

typedef struct {
    PyObject_HEAD acp_ga_t address;
    size_t bytes;
    void* pointer; /* NULL: the memory is on another node */
    Py_ssize_t exports;
    unsigned epoch;
    int rank;
    bool is_owner;
    bool is_freed;
} Segment;

static PyTypeObject* segment_type;

static int require_memory(const Segment* self) {
    if (require_job() != 0) return -1;
    if (!self->is_freed && self->epoch == job.epoch) return 0;
    PyErr_SetString(PyExc_ValueError, self->is_freed
                                          ? "the segment was freed"
                                          : "the segment is of a job that this process has left");
    return -1;
}

/* The pointer to memory that this process has mapped, else NULL, without a trace in acp_errno. */
static void* pointer_of(acp_ga_t address, size_t bytes) {
    char* const first = acp_query_address(address);
    char* const last = first != NULL ? acp_query_address(address + (bytes - 1)) : NULL;
    return last != NULL && last == first + (bytes - 1) ? first : NULL;
}

static PyObject* make_segment(PyTypeObject* type, acp_ga_t address, size_t bytes, bool is_owner) {
    Segment* self = PyObject_New(Segment, type);
    if (self == NULL) return NULL;
    self->address = address;
    self->bytes = bytes;
    self->pointer = pointer_of(address, bytes);
    self->exports = 0;
    self->epoch = job.epoch;
    self->rank = acp_query_rank(address);
    self->is_owner = is_owner;
    self->is_freed = false;
    return (PyObject*)self;
}

static int take_size(PyObject* object, size_t* bytes) {
    if (take_bytes(object, "size", bytes) != 0) return -1;
    if (*bytes > 0) return 0;
    PyErr_SetString(PyExc_ValueError, "size is 0; a segment has 1 byte or more");
    return -1;
}

static PyObject* segment_new(PyTypeObject* type, PyObject* arguments, PyObject* names) {
    static char* keywords[] = {"size", "rank", NULL};
    PyObject* size_object = NULL;
    PyObject* rank_object = NULL;
    size_t bytes = 0;
    int rank = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "O|O:Segment", keywords, &size_object,
                                     &rank_object))
        return NULL;
    if (require_job() != 0 || take_size(size_object, &bytes) != 0 ||
        take_rank(rank_object, &rank) != 0)
        return NULL;
    acp_ga_t address = ACP_GA_NULL;
    WITHOUT_LOCK(address = acp_calloc(1, bytes, rank));
    if (address == ACP_GA_NULL) return raise_last();
    PyObject* self = make_segment(type, address, bytes, true);
    if (self == NULL) acp_free(address);
    return self;
}

static PyObject* segment_attach(PyObject* type, PyObject* arguments) {
    PyObject* address_object = NULL;
    PyObject* size_object = NULL;
    acp_ga_t address = ACP_GA_NULL;
    size_t bytes = 0;
    if (!PyArg_ParseTuple(arguments, "OO:attach", &address_object, &size_object)) return NULL;
    if (require_job() != 0 || take_address(address_object, &address) != 0 ||
        take_size(size_object, &bytes) != 0) {
        return NULL;
    }
    if (acp_query_rank(address) < 0) return raise_last();
    PyObject* object = make_segment((PyTypeObject*)type, address, bytes, false);
    /* Memory of the own node is checked now: a view of it reaches no byte of anything else. */
    if (object != NULL && ((Segment*)object)->pointer == NULL &&
        acp_query_address(address) != NULL) {
        Py_DECREF(object);
        return raise_code(ACP_ERR_ADDRESS, "the bytes do not lie in the memory of one rank");
    }
    return object;
}

static PyObject* starter(PyObject* module, PyObject* rank_object) {
    (void)module;
    int rank = 0;
    if (require_job() != 0 || take_rank(rank_object, &rank) != 0) return NULL;
    const size_t bytes = acp_starter_size();
    if (bytes == 0)
        return raise_code(ACP_ERR_UNSUPPORTED,
                          "the job was started with starter memories of 0 bytes");
    return make_segment(segment_type, acp_query_starter_ga(rank), bytes, false);
}

static PyObject* segment_free(PyObject* object, PyObject* unused) {
    (void)unused;
    Segment* self = (Segment*)object;
    if (require_memory(self) != 0) return NULL;
    if (!self->is_owner)
        return PyErr_Format(PyExc_ValueError,
                            "only the segment that allocated the memory frees it");
    if (self->exports > 0) release_orphans(false);
    if (self->exports > 0) {
        return PyErr_Format(PyExc_BufferError,
                            "%zd memoryviews or arrays use the segment: release them first",
                            self->exports);
    }
    self->is_freed = true; /* before other threads may run */
    int result = -1;
    WITHOUT_LOCK(result = acp_free(self->address));
    return result == 0 ? Py_NewRef(Py_None) : raise_last();
}

static PyObject* segment_enter(PyObject* object, PyObject* unused) {
    (void)unused;
    return require_memory((Segment*)object) == 0 ? Py_NewRef(object) : NULL;
}

static PyObject* segment_exit(PyObject* object, PyObject* arguments) {
    (void)arguments;
    const Segment* self = (const Segment*)object;
    if (!self->is_owner || self->is_freed || self->epoch != job.epoch || job.state != JOB_JOINED)
        Py_RETURN_NONE;
    return segment_free(object, NULL);
}

static PyObject* segment_at(PyObject* object, PyObject* offset_object) {
    const Segment* self = (const Segment*)object;
    size_t offset = 0;
    if (require_memory(self) != 0 || take_bytes(offset_object, "offset", &offset) != 0) return NULL;
    if (offset > self->bytes) {
        return PyErr_Format(PyExc_ValueError, "offset %zu is beyond the segment's %zu bytes",
                            offset, self->bytes);
    }
    return PyLong_FromUnsignedLongLong(self->address + offset);
}

static int segment_get_buffer(PyObject* object, Py_buffer* view, int flags) {
    Segment* self = (Segment*)object;
    view->obj = NULL;
    if (require_memory(self) != 0) return -1;
    if (self->pointer == NULL) {
        PyErr_SetString(PyExc_BufferError,
                        "the segment is on another node: use acp4py.get and acp4py.put");
        return -1;
    }
    if (PyBuffer_FillInfo(view, object, self->pointer, (Py_ssize_t)self->bytes, 0, flags) != 0)
        return -1;
    ++self->exports;
    ++job.exports;
    return 0;
}

static void segment_release_buffer(PyObject* object, Py_buffer* view) {
    (void)view;
    Segment* self = (Segment*)object;
    --self->exports;
    --job.exports;
}

static Py_ssize_t segment_length(PyObject* object) {
    const Segment* self = (const Segment*)object;
    return require_memory(self) == 0 ? (Py_ssize_t)self->bytes : -1;
}

static PyObject* get_address(PyObject* object, void* unused) {
    (void)unused;
    const Segment* self = (const Segment*)object;
    return require_memory(self) == 0 ? PyLong_FromUnsignedLongLong(self->address) : NULL;
}

static PyObject* get_rank(PyObject* object, void* unused) {
    (void)unused;
    return PyLong_FromLong(((const Segment*)object)->rank);
}

static PyObject* get_is_local(PyObject* object, void* unused) {
    (void)unused;
    return PyBool_FromLong(((const Segment*)object)->pointer != NULL);
}

static PyObject* segment_repr(PyObject* object) {
    const Segment* self = (const Segment*)object;
    const bool is_gone = self->is_freed || self->epoch != job.epoch || job.state != JOB_JOINED;
    char address[24];
    PyOS_snprintf(address, sizeof(address), "0x%016llx", (unsigned long long)self->address);
    return PyUnicode_FromFormat("<acp4py.Segment %zu bytes of rank %d at %s%s>", self->bytes,
                                self->rank, address, is_gone ? ", gone" : "");
}

static PyObject* segment_reduce(PyObject* object, PyObject* unused) {
    (void)unused;
    const Segment* self = (const Segment*)object;
    if (require_memory(self) != 0) return NULL;
    PyObject* attach = PyObject_GetAttrString((PyObject*)Py_TYPE(object), "attach");
    if (attach == NULL) return NULL;
    return Py_BuildValue("N(Kn)", attach, (unsigned long long)self->address,
                         (Py_ssize_t)self->bytes);
}

static void segment_dealloc(PyObject* object) {
    Segment* self = (Segment*)object;
    PyTypeObject* type = Py_TYPE(object);
    if (self->is_owner && !self->is_freed && self->epoch == job.epoch && job.state == JOB_JOINED) {
        PyObject *kind = NULL, *value = NULL, *trace = NULL;
        PyErr_Fetch(&kind, &value, &trace);
        if (PyErr_WarnFormat(PyExc_ResourceWarning, 1,
                             "a segment of %zu bytes of rank %d was not freed", self->bytes,
                             self->rank) != 0) {
            PyErr_WriteUnraisable(NULL);
        }
        PyErr_Restore(kind, value, trace);
    }
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"attach", segment_attach, METH_VARARGS | METH_CLASS,
     "attach(address, size) -> Segment\n\nMemory that another Segment allocated, or a part of it, "
     "on any rank.\n"
     "AddressError: no rank has this address, or, on the own node, the bytes are not of one rank. "
     "Does not block."},
    {"free", segment_free, METH_NOARGS,
     "free() -> None\n\nFrees the memory; no command may be using it. BufferError while "
     "memoryviews of this object exist.\n"
     "ValueError: freed before, or attached. Blocks for a round trip where the rank is on another "
     "node."},
    {"at", segment_at, METH_O,
     "at(offset) -> int\n\nThe address of a byte, 0 .. len(segment). ValueError for others. Does "
     "not block."},
    {"__enter__", segment_enter, METH_NOARGS, NULL},
    {"__exit__", segment_exit, METH_VARARGS, NULL},
    {"__reduce__", segment_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef fields[] = {
    {"address", get_address, NULL, "The address of the first byte, an int.", NULL},
    {"rank", get_rank, NULL, "The rank whose memory it is.", NULL},
    {"is_local", get_is_local, NULL,
     "Whether this process has mapped the memory, so that memoryview(segment) works.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Segment(size, rank=None)\n\nsize bytes, zero, in the heap of a rank (None: the caller's), at "
     "a multiple of 16. Any rank may use\n"
     "its address. The memory lives until free(), the end of a with block, or finalize(); not only "
     "as long as this object.\n"
     "On the caller's node it is a writable buffer. Blocks for a round trip where the rank is on "
     "another node.\n"
     "OutOfMemoryError: the heap is full. ValueError: size or rank out of range. PeerError: the "
     "rank's node is lost."},
    {Py_tp_new, (void*)segment_new},
    {Py_tp_dealloc, (void*)segment_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, fields},
    {Py_tp_repr, (void*)segment_repr},
    {Py_sq_length, (void*)segment_length},
    {Py_bf_getbuffer, (void*)segment_get_buffer},
    {Py_bf_releasebuffer, (void*)segment_release_buffer},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "acp4py.Segment",
    .basicsize = sizeof(Segment),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

static PyMethodDef functions[] = {
    {"starter", starter, METH_O, "The starter memory of a rank."},
    {NULL, NULL, 0, NULL},
};

int add_segment(PyObject* module) {
    segment_type = (PyTypeObject*)PyType_FromSpec(&spec);
    if (segment_type == NULL ||
        PyModule_AddObjectRef(module, "Segment", (PyObject*)segment_type) != 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
