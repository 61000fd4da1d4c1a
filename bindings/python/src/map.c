/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps: the calls on keys. In a job of one node they run with the interpreter's lock, since they
 * wait for no other process there. */
#include "map.h"

#include <stdlib.h>
#include <string.h>

/* Runs a call on the map, without the interpreter's lock where it may wait for another node. */
#define RUN(statement)               \
    do {                             \
        if (job.is_one_node) {       \
            statement;               \
        } else {                     \
            WITHOUT_LOCK(statement); \
        }                            \
    } while (0)

enum { VALUE_ROOM = 1024 }; /* a longer value takes a second call */

int require_map(const Map* map) {
    if (require_job() != 0) return -1;
    if (!map->is_destroyed && map->epoch == job.epoch) return 0;
    PyErr_SetString(PyExc_ValueError, map->is_destroyed
                                          ? "the map was destroyed"
                                          : "the map is of a job that this process has left");
    return -1;
}

static int refuse(PyObject* object, const char* what, const char* wanted) {
    PyErr_Format(PyExc_TypeError, "the %s of this map is %s, not %R", what, wanted,
                 (PyObject*)Py_TYPE(object));
    return -1;
}

int encode(PyObject* object, Kind kind, const char* what, Encoded* encoded) {
    encoded->has_buffer = false;
    if (kind == KIND_STR) {
        Py_ssize_t size = 0;
        if (!PyUnicode_Check(object)) return refuse(object, what, "a str");
        encoded->bytes = PyUnicode_AsUTF8AndSize(object, &size);
        encoded->size = (size_t)size;
        return encoded->bytes != NULL ? 0 : -1;
    }
    if (kind == KIND_INT) {
        if (!PyLong_Check(object)) return refuse(object, what, "an int");
        encoded->number = PyLong_AsLongLong(object);
        encoded->bytes = &encoded->number;
        encoded->size = sizeof(encoded->number);
        return encoded->number == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (!PyObject_CheckBuffer(object)) return refuse(object, what, "bytes");
    if (PyObject_GetBuffer(object, &encoded->buffer, PyBUF_SIMPLE) != 0) return -1;
    encoded->has_buffer = true;
    encoded->bytes = encoded->buffer.len > 0 ? encoded->buffer.buf : "";
    encoded->size = (size_t)encoded->buffer.len;
    return 0;
}

void release_encoded(Encoded* encoded) {
    if (encoded->has_buffer) PyBuffer_Release(&encoded->buffer);
}

PyObject* decode(const void* bytes, size_t size, Kind kind) {
    if (kind == KIND_BYTES) return PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
    if (kind == KIND_STR) return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)size, NULL);
    int64_t number = 0;
    if (size != sizeof(number)) {
        return PyErr_Format(PyExc_ValueError, "the map has %zu bytes where an int has 8", size);
    }
    memcpy(&number, bytes, sizeof(number));
    return PyLong_FromLongLong(number);
}

static int take_kind(PyObject* object, bool is_key, Kind* kind) {
    *kind = KIND_BYTES;
    if (object == NULL || object == (PyObject*)&PyBytes_Type) return 0;
    *kind = KIND_STR;
    if (object == (PyObject*)&PyUnicode_Type) return 0;
    *kind = KIND_INT;
    if (object == (PyObject*)&PyLong_Type) return 0;
    PyErr_Format(PyExc_TypeError, "the %s of a map is bytes, str or int, not %R",
                 is_key ? "key" : "value", object);
    return -1;
}

/* The ranks of a sequence, or NULL with *count 0 for None. *failed says whether there is an exception. */
static int* take_ranks(PyObject* object, int* count, bool* failed) {
    *count = 0;
    *failed = true;
    const Py_ssize_t length = object == NULL || object == Py_None ? 0 : PySequence_Size(object);
    if (length < 0) return NULL;
    int* ranks = length > 0 ? calloc((size_t)length, sizeof(int)) : NULL;
    if (length > 0 && ranks == NULL) PyErr_NoMemory();
    for (Py_ssize_t i = 0; ranks != NULL && i < length; ++i) {
        PyObject* rank = PySequence_GetItem(object, i);
        const int result = rank != NULL ? take_rank(rank, &ranks[i]) : -1;
        Py_XDECREF(rank);
        if (result != 0) {
            free(ranks);
            return NULL;
        }
    }
    *count = (int)length;
    *failed = length > 0 && ranks == NULL;
    return ranks;
}

static PyObject* map_new(PyTypeObject* type, PyObject* arguments, PyObject* names) {
    static char* keywords[] = {"key", "value", "ranks", NULL};
    PyObject *key = NULL, *value = NULL, *list = NULL;
    Kind key_kind = KIND_BYTES, value_kind = KIND_BYTES;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "|OOO:Map", keywords, &key, &value, &list))
        return NULL;
    if (take_kind(key, true, &key_kind) != 0 || take_kind(value, false, &value_kind) != 0 ||
        require_job() != 0)
        return NULL;
    acp_hashed_options_t options = {0};
    bool failed = false;
    int* ranks = take_ranks(list, &options.num_ranks, &failed);
    if (failed) return NULL;
    options.ranks = ranks;
    options.rank = job.rank;
    acp_map_t map = {0};
    WITHOUT_LOCK(map = acp_create_map_with(&options));
    free(ranks);
    if (map.ga == ACP_GA_NULL) return raise_last();
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Map* self = (Map*)allocate(type, 0);
    if (self == NULL) {
        acp_destroy_map(map);
        return NULL;
    }
    self->map = map;
    self->epoch = job.epoch;
    self->key_kind = key_kind;
    self->value_kind = value_kind;
    return (PyObject*)self;
}

static PyObject* map_attach(PyObject* class, PyObject* arguments) {
    const char* bytes = NULL;
    Py_ssize_t size = 0;
    PyObject *key = NULL, *value = NULL;
    Kind key_kind = KIND_BYTES, value_kind = KIND_BYTES;
    if (!PyArg_ParseTuple(arguments, "y#|OO:attach", &bytes, &size, &key, &value)) return NULL;
    if (take_kind(key, true, &key_kind) != 0 || take_kind(value, false, &value_kind) != 0 ||
        require_job() != 0)
        return NULL;
    if (size != (Py_ssize_t)sizeof(acp_map_t)) {
        return PyErr_Format(PyExc_ValueError, "the name of a map has %zu bytes, not %zd",
                            sizeof(acp_map_t), size);
    }
    PyTypeObject* type = (PyTypeObject*)class;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Map* self = (Map*)allocate(type, 0);
    if (self == NULL) return NULL;
    memcpy(&self->map, bytes, sizeof(acp_map_t));
    self->epoch = job.epoch;
    self->key_kind = key_kind;
    self->value_kind = value_kind;
    return (PyObject*)self;
}

static PyObject* map_name(PyObject* object, void* unused) {
    (void)unused;
    const Map* self = (const Map*)object;
    return require_map(self) == 0
               ? PyBytes_FromStringAndSize((const char*)&self->map, sizeof(self->map))
               : NULL;
}

static PyObject* type_of(Kind kind) {
    return Py_NewRef(kind == KIND_INT   ? (PyObject*)&PyLong_Type
                     : kind == KIND_STR ? (PyObject*)&PyUnicode_Type
                                        : (PyObject*)&PyBytes_Type);
}

static PyObject* map_key(PyObject* object, void* unused) {
    (void)unused;
    return type_of(((const Map*)object)->key_kind);
}

static PyObject* map_value(PyObject* object, void* unused) {
    (void)unused;
    return type_of(((const Map*)object)->value_kind);
}

/* The value of a key, NULL without an exception where there is no entry. */
static PyObject* find(Map* self, const Encoded* key) {
    char first[VALUE_ROOM];
    char* room = first;
    char* longer = NULL;
    size_t room_size = sizeof(first);
    PyObject* value = NULL;
    for (;;) {
        size_t size = room_size;
        int result = -1;
        RUN(result = acp_retrieve_map(self->map, key->bytes, key->size, room, &size));
        if (result < 0) raise_last();
        if (result == 1 && size > room_size) { /* longer, or replaced by a longer one since */
            free(longer);
            room = longer = malloc(size);
            room_size = size;
            if (room != NULL) continue;
            PyErr_NoMemory();
        } else if (result == 1) {
            value = decode(room, size, self->value_kind);
        }
        free(longer);
        return value;
    }
}

static PyObject* map_subscript(PyObject* object, PyObject* key) {
    Map* self = (Map*)object;
    Encoded encoded;
    if (require_map(self) != 0 || encode(key, self->key_kind, "key", &encoded) != 0) return NULL;
    PyObject* value = find(self, &encoded);
    release_encoded(&encoded);
    if (value == NULL && !PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, key);
    return value;
}

static PyObject* map_get(PyObject* object,
                         PyObject* const* arguments,
                         Py_ssize_t count,
                         PyObject* names) {
    static const char* const parameters[] = {"key", "default", NULL};
    static const Signature signature = {"get", parameters, 1};
    Map* self = (Map*)object;
    PyObject* values[2];
    Encoded key;
    if (take_arguments(&signature, arguments, count, names, values) != 0 || require_map(self) != 0)
        return NULL;
    if (encode(values[0], self->key_kind, "key", &key) != 0) return NULL;
    PyObject* value = find(self, &key);
    release_encoded(&key);
    if (value == NULL && !PyErr_Occurred())
        return Py_NewRef(values[1] != NULL ? values[1] : Py_None);
    return value;
}

static int map_contains(PyObject* object, PyObject* key) {
    Map* self = (Map*)object;
    Encoded encoded;
    if (require_map(self) != 0 || encode(key, self->key_kind, "key", &encoded) != 0) return -1;
    size_t size = 0;
    int result = -1;
    RUN(result = acp_retrieve_map(self->map, encoded.bytes, encoded.size, NULL, &size));
    release_encoded(&encoded);
    if (result < 0) raise_last();
    return result;
}

static int remove_key(Map* self, PyObject* key, const Encoded* encoded) {
    int result = -1;
    RUN(result = acp_remove_map(self->map, encoded->bytes, encoded->size));
    if (result < 0) raise_last();
    if (result == 0) PyErr_SetObject(PyExc_KeyError, key);
    return result == 1 ? 0 : -1;
}

typedef int Insertion(acp_map_t, const void*, size_t, const void*, size_t);

/* 1: inserted, 0: there was an entry, -1 with an exception. */
static int insert(Map* self, const Encoded* key, PyObject* value, Insertion* insertion) {
    Encoded encoded;
    int result = -1;
    if (encode(value, self->value_kind, "value", &encoded) != 0) return -1;
    RUN(result = insertion(self->map, key->bytes, key->size, encoded.bytes, encoded.size));
    release_encoded(&encoded);
    if (result < 0) raise_last();
    return result;
}

static int map_assign(PyObject* object, PyObject* key, PyObject* value) {
    Map* self = (Map*)object;
    Encoded encoded;
    if (require_map(self) != 0 || encode(key, self->key_kind, "key", &encoded) != 0) return -1;
    const int result = value == NULL ? remove_key(self, key, &encoded)
                                     : insert(self, &encoded, value, acp_insert_or_assign_map);
    release_encoded(&encoded);
    return result < 0 ? -1 : 0;
}

static PyObject* map_setdefault(PyObject* object, PyObject* arguments) {
    Map* self = (Map*)object;
    PyObject *key = NULL, *value = NULL;
    Encoded encoded;
    if (!PyArg_ParseTuple(arguments, "OO:setdefault", &key, &value) || require_map(self) != 0)
        return NULL;
    if (encode(key, self->key_kind, "key", &encoded) != 0) return NULL;
    PyObject* found = NULL;
    int result = 0;
    while (found == NULL && result == 0) { /* another rank may erase the entry before it is read */
        result = insert(self, &encoded, value, acp_insert_if_absent_map);
        if (result == 0) found = find(self, &encoded);
        if (PyErr_Occurred()) result = -1;
    }
    release_encoded(&encoded);
    return result == 1 ? Py_NewRef(value) : found;
}

static PyObject* map_fetch_add(PyObject* object,
                               PyObject* const* arguments,
                               Py_ssize_t count,
                               PyObject* names) {
    static const char* const parameters[] = {"key", "value", NULL};
    static const Signature signature = {"fetch_add", parameters, 2};
    Map* self = (Map*)object;
    PyObject* values[2];
    Encoded key, addend;
    if (take_arguments(&signature, arguments, count, names, values) != 0 || require_map(self) != 0)
        return NULL;
    if (self->value_kind != KIND_INT)
        return PyErr_Format(PyExc_TypeError, "fetch_add is for maps whose value is int");
    if (encode(values[1], KIND_INT, "value", &addend) != 0 ||
        encode(values[0], self->key_kind, "key", &key) != 0)
        return NULL;
    uint64_t old = 0;
    int result = -1;
    RUN(result = acp_fetch_add_map(self->map, key.bytes, key.size, (uint64_t)addend.number, &old));
    release_encoded(&key);
    return result >= 0 ? PyLong_FromLongLong((int64_t)old) : raise_last();
}

static Py_ssize_t map_length(PyObject* object) {
    const Map* self = (const Map*)object;
    size_t entries = SIZE_MAX;
    if (require_map(self) != 0) return -1;
    RUN(entries = acp_size_map(self->map));
    if (entries == SIZE_MAX) raise_last();
    return (Py_ssize_t)entries;
}

static PyObject* map_clear(PyObject* object, PyObject* unused) {
    (void)unused;
    const Map* self = (const Map*)object;
    int result = -1;
    if (require_map(self) != 0) return NULL;
    WITHOUT_LOCK(result = acp_clear_map(self->map));
    return result == 0 ? Py_NewRef(Py_None) : raise_last();
}

static PyObject* map_destroy(PyObject* object, PyObject* unused) {
    (void)unused;
    Map* self = (Map*)object;
    int result = -1;
    if (require_map(self) != 0) return NULL;
    self->is_destroyed = true; /* before other threads may run */
    WITHOUT_LOCK(result = acp_destroy_map(self->map));
    return result == 0 ? Py_NewRef(Py_None) : raise_last();
}

static PyObject* map_iterate(PyObject* object) {
    return new_map_iterator((Map*)object, WALK_KEYS);
}

static PyObject* map_walk(PyObject* object, PyObject* argument) {
    const long walk = PyLong_AsLong(argument);
    if (walk == -1 && PyErr_Occurred()) return NULL;
    if (walk < WALK_KEYS || walk > WALK_ITEMS)
        return PyErr_Format(PyExc_ValueError, "0: keys, 1: values, 2: items");
    return new_map_iterator((Map*)object, (Walk)walk);
}

static void map_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL | METH_KEYWORDS

static PyMethodDef methods[] = {
    {"attach", map_attach, METH_VARARGS | METH_CLASS,
     "attach(name, key=bytes, value=bytes) -> Map\n\nThe map that another rank or program made, by "
     "its 32 bytes. Does not block."},
    {"get", FAST(map_get), "get(key, default=None)\n\nThe value of the key, or default."},
    {"setdefault", map_setdefault, METH_VARARGS,
     "setdefault(key, value)\n\nInserts the entry unless the key has one; returns the value that "
     "the key has. Atomic."},
    {"fetch_add", FAST(map_fetch_add),
     "fetch_add(key, value) -> int\n\nAdds to an int, modulo 2**64, and returns the old one; a "
     "missing entry counts as 0 and is made. Atomic.\n"
     "TypeError: the map's value is not int."},
    {"clear", map_clear, METH_NOARGS,
     "clear() -> None\n\nErases the entries that exist when the call begins."},
    {"destroy", map_destroy, METH_NOARGS,
     "destroy() -> None\n\nFrees the map and its entries, for all ranks; no rank may be using it. "
     "finalize() does it too."},
    {"_walk", map_walk, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef fields[] = {
    {"name", map_name, NULL, "32 bytes for Map.attach() on other ranks.", NULL},
    {"key", map_key, NULL, "The type of the keys: bytes, str or int.", NULL},
    {"value", map_value, NULL, "The type of the values: bytes, str or int.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The calls of acp4py.Map in C."},
    {Py_tp_new, (void*)map_new},
    {Py_tp_dealloc, (void*)map_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, fields},
    {Py_tp_iter, (void*)map_iterate},
    {Py_mp_length, (void*)map_length},
    {Py_mp_subscript, (void*)map_subscript},
    {Py_mp_ass_subscript, (void*)map_assign},
    {Py_sq_contains, (void*)map_contains},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "acp4py._acp.MapCalls",
    .basicsize = sizeof(Map),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int add_map(PyObject* module) {
    PyObject* type = PyType_FromSpec(&spec);
    const int result = type != NULL ? PyModule_AddObjectRef(module, "MapCalls", type) : -1;
    Py_XDECREF(type);
    return result == 0 ? add_map_iterator(module) : -1;
}
