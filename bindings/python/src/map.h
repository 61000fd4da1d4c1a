/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps as Python objects, and how keys and values become bytes. All functions run with the
 * interpreter's lock. */
#ifndef ACP_PYTHON_MAP_H
#define ACP_PYTHON_MAP_H

#include "job.h"

/* How a key or value becomes bytes: unchanged, as UTF-8, or as a signed integer of 8 bytes in the
 * machine's order. */
typedef enum { KIND_BYTES, KIND_STR, KIND_INT } Kind;

typedef struct {
    PyObject_HEAD acp_map_t map;
    unsigned epoch;
    Kind key_kind;
    Kind value_kind;
    bool is_destroyed;
} Map;

/* A key or value as bytes. They live as long as the object they were made of, and until
 * release_encoded. */
typedef struct {
    const void* bytes;
    size_t size;
    int64_t number;
    bool has_buffer;
    Py_buffer buffer;
} Encoded;

/* -1 with TypeError (another type than the kind's), OverflowError (int beyond 64 bits) or
 * UnicodeEncodeError. */
int encode(PyObject* object, Kind kind, const char* what, Encoded* encoded);
void release_encoded(Encoded* encoded);

/* NULL with ValueError where the bytes are none of the kind: another program has written them. */
PyObject* decode(const void* bytes, size_t size, Kind kind);

/* 0 when the map may be used, else -1 with StateError or ValueError. */
int require_map(const Map* map);

/* An iterator over entries: keys, values, or pairs of both. */
typedef enum { WALK_KEYS, WALK_VALUES, WALK_ITEMS } Walk;

PyObject* new_map_iterator(Map* map, Walk walk);

int add_map(PyObject* module);
int add_map_iterator(PyObject* module);

#endif
