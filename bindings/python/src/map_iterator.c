/* SPDX-License-Identifier: BSD-3-Clause */
/* Iteration over a map: entries are copied in groups, so that a walk over entries of another node
 * takes a round trip for many of them. */
#include <stdlib.h>

#include "map.h"

enum { GROUP = 64, ROOM_BYTES = 16 * 1024 };

typedef struct {
    PyObject_HEAD Map* map;
    Walk walk;
    bool has_begun;
    acp_map_it_t place;
    acp_entry_t entries[GROUP];
    int64_t count;
    int64_t next;
    char* room;
    size_t room_size;
} MapIterator;

static PyTypeObject* iterator_type;

PyObject* new_map_iterator(Map* map, Walk walk) {
    if (require_map(map) != 0) return NULL;
    MapIterator* self = PyObject_New(MapIterator, iterator_type);
    if (self == NULL) return NULL;
    self->map = (Map*)Py_NewRef((PyObject*)map);
    self->walk = walk;
    self->has_begun = false;
    self->count = self->next = 0;
    self->room_size = ROOM_BYTES;
    self->room = malloc(self->room_size);
    if (self->room == NULL) {
        Py_DECREF((PyObject*)self);
        return PyErr_NoMemory();
    }
    return (PyObject*)self;
}

static void iterator_dealloc(PyObject* object) {
    MapIterator* self = (MapIterator*)object;
    PyTypeObject* type = Py_TYPE(object);
    Py_DECREF((PyObject*)self->map);
    free(self->room);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* Makes the room long enough for the entry at the place. */
static int enlarge(MapIterator* self) {
    const size_t size = self->place.key_size + self->place.value_size + 16;
    if (size <= self->room_size) return -1;
    char* const room = realloc(self->room, size);
    if (room == NULL) return -1;
    self->room = room;
    self->room_size = size;
    return 0;
}

/* Copies the next entries; the result is their number, 0 at the end, -1 with an exception. */
static int64_t fetch(MapIterator* self) {
    int code = ACP_OK;
    if (!self->has_begun) {
        WITHOUT_LOCK(self->place = acp_begin_map(self->map->map));
        if (self->place.rank == -1) {
            raise_last();
            return -1;
        }
        self->has_begun = true;
    }
    for (;;) {
        WITHOUT_LOCK({
            self->count =
                acp_scan_map(&self->place, GROUP, self->entries, self->room, self->room_size);
            code = self->count < 0 ? acp_errno() : ACP_OK;
        });
        if (self->count >= 0) return self->count;
        if (code != ACP_ERR_LIMIT || enlarge(self) != 0) {
            raise_code(code, NULL);
            return -1;
        }
    }
}

static PyObject* iterator_next(PyObject* object) {
    MapIterator* self = (MapIterator*)object;
    if (require_map(self->map) != 0) return NULL;
    if (self->next == self->count) {
        self->next = self->count = 0;
        const int64_t count = fetch(self);
        if (count <= 0) {
            self->count = 0;
            return NULL;
        }
    }
    const acp_entry_t* entry = &self->entries[self->next++];
    PyObject* key = NULL;
    PyObject* value = NULL;
    if (self->walk != WALK_VALUES) key = decode(entry->key, entry->key_size, self->map->key_kind);
    if (self->walk == WALK_KEYS || (self->walk == WALK_ITEMS && key == NULL)) return key;
    value = decode(entry->value, entry->value_size, self->map->value_kind);
    if (self->walk == WALK_VALUES) return value;
    PyObject* pair = value != NULL ? PyTuple_Pack(2, key, value) : NULL;
    Py_DECREF(key);
    Py_XDECREF(value);
    return pair;
}

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void*)iterator_dealloc},
    {Py_tp_iter, (void*)PyObject_SelfIter},
    {Py_tp_iternext, (void*)iterator_next},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "acp4py._acp.MapIterator",
    .basicsize = sizeof(MapIterator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int add_map_iterator(PyObject* module) {
    (void)module;
    iterator_type = (PyTypeObject*)PyType_FromSpec(&spec);
    return iterator_type != NULL ? 0 : -1;
}
