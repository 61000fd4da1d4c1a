/* SPDX-License-Identifier: BSD-3-Clause */
/* The classes of errors, and the checks of arguments that all functions share. */
#include <string.h>

#include "job.h"

typedef struct {
    int code;
    const char* name;
    const char* text;
    PyObject* type;
} ErrorClass;

/* The first row is the class of all codes that have none of their own. */
static ErrorClass classes[] = {
    {0, "acp4py.Error", "A failure of ACP. code: its number, as ACP_ERR_... of acp/error.h.", NULL},
    {ACP_ERR_PEER, "acp4py.PeerError", "A rank that the call needs is dead, or its node is lost.",
     NULL},
    {ACP_ERR_TIMEOUT, "acp4py.TimeoutError",
     "The time limit has passed; the command is outstanding.", NULL},
    {ACP_ERR_STATE, "acp4py.StateError", "Before init(), after finalize(), or in a forked child.",
     NULL},
    {ACP_ERR_MEMORY, "acp4py.OutOfMemoryError", "A heap, or the system, has no room.", NULL},
    {ACP_ERR_STALE, "acp4py.StaleError", "The memory or the container was freed.", NULL},
    {ACP_ERR_ADDRESS, "acp4py.AddressError", "An address names no memory, or the access leaves it.",
     NULL},
};

enum { CLASSES = sizeof(classes) / sizeof(classes[0]) };

static PyObject* class_of(int code) {
    const int searched = code == ACP_ERR_FORKED ? ACP_ERR_STATE : code;
    for (int i = 1; i < CLASSES; ++i) {
        if (classes[i].code == searched) return classes[i].type;
    }
    return classes[0].type;
}

PyObject* raise_code(int code, const char* text) {
    PyObject* type = class_of(code);
    const char* message = text != NULL ? text : acp_error_message();
    if (message[0] == '\0') message = acp_strerror(code);
    PyObject* decoded = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    PyObject* error = decoded != NULL ? PyObject_CallFunctionObjArgs(type, decoded, NULL) : NULL;
    PyObject* number = PyLong_FromLong(code);
    if (error != NULL && number != NULL && PyObject_SetAttrString(error, "code", number) == 0) {
        PyErr_SetObject(type, error);
    }
    Py_XDECREF(number);
    Py_XDECREF(error);
    Py_XDECREF(decoded);
    return NULL;
}

PyObject* raise_last(void) {
    return raise_code(acp_errno(), NULL);
}

int add_errors(PyObject* module) {
    for (int i = 0; i < CLASSES; ++i) {
        ErrorClass* row = &classes[i];
        PyObject* bases = NULL;
        if (i == 0) {
            bases = PyTuple_Pack(1, PyExc_Exception);
        } else if (row->code == ACP_ERR_TIMEOUT) {
            bases = PyTuple_Pack(2, classes[0].type, PyExc_TimeoutError);
        } else if (row->code == ACP_ERR_MEMORY) {
            bases = PyTuple_Pack(2, classes[0].type, PyExc_MemoryError);
        } else {
            bases = PyTuple_Pack(1, classes[0].type);
        }
        PyObject* fields = Py_BuildValue("{s:i}", "code", row->code);
        if (bases != NULL && fields != NULL) {
            row->type = PyErr_NewExceptionWithDoc(row->name, row->text, bases, fields);
        }
        Py_XDECREF(fields);
        Py_XDECREF(bases);
        if (row->type == NULL) return -1;
        if (PyModule_AddObjectRef(module, strchr(row->name, '.') + 1, row->type) != 0) return -1;
    }
    return 0;
}

static int place_of(const Signature* signature, PyObject* name) {
    for (int i = 0; signature->names[i] != NULL; ++i) {
        if (PyUnicode_CompareWithASCIIString(name, signature->names[i]) == 0) return i;
    }
    return -1;
}

int take_arguments(const Signature* signature,
                   PyObject* const* arguments,
                   Py_ssize_t count,
                   PyObject* names,
                   PyObject** values) {
    Py_ssize_t most = 0;
    for (; signature->names[most] != NULL; ++most) values[most] = NULL;
    if (count > most) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments (%zd given)",
                     signature->function, most, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; ++i) values[i] = arguments[i];
    const Py_ssize_t named = names != NULL ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < named; ++i) {
        PyObject* name = PyTuple_GetItem(names, i);
        const int place = place_of(signature, name);
        if (place < 0 || values[place] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() %s '%U'", signature->function,
                         place < 0 ? "has no parameter" : "got two values for", name);
            return -1;
        }
        values[place] = arguments[count + i];
    }
    for (Py_ssize_t i = 0; i < signature->required; ++i) {
        if (values[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() needs '%s'", signature->function,
                         signature->names[i]);
            return -1;
        }
    }
    return 0;
}

int take_address(PyObject* object, acp_ga_t* address) {
    if (!PyLong_Check(object)) {
        PyErr_Format(PyExc_TypeError, "an address is an int, not %R", (PyObject*)Py_TYPE(object));
        return -1;
    }
    *address = PyLong_AsUnsignedLongLong(object);
    return *address == UINT64_MAX && PyErr_Occurred() ? -1 : 0;
}

int take_bytes(PyObject* object, const char* what, size_t* bytes) {
    const Py_ssize_t number = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (number == -1 && PyErr_Occurred()) return -1;
    if (number < 0) {
        PyErr_Format(PyExc_ValueError, "%s is %zd; it is 0 or more", what, number);
        return -1;
    }
    *bytes = (size_t)number;
    return 0;
}

int take_rank(PyObject* object, int* rank) {
    *rank = job.rank;
    if (object == NULL || object == Py_None) return 0;
    const Py_ssize_t number = PyNumber_AsSsize_t(object, PyExc_ValueError);
    if (number == -1 && PyErr_Occurred()) return -1;
    if (number < 0 || number >= job.size) {
        PyErr_Format(PyExc_ValueError, "rank %zd; ranks are 0 .. %d", number, job.size - 1);
        return -1;
    }
    *rank = (int)number;
    return 0;
}
