/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands on addresses: put, get and copy, which return handles, and atomics, which return the old
 * value. */
#include "access.h"

#include "handle.h"

static PyObject* copy_bytes(const Signature* signature,
                            PyObject* const* arguments,
                            Py_ssize_t count,
                            PyObject* names,
                            int flags) {
    PyObject* values[3];
    acp_ga_t address = ACP_GA_NULL;
    acp_handle_t order = ACP_HANDLE_NULL;
    if (take_arguments(signature, arguments, count, names, values) != 0 || require_job() != 0)
        return NULL;
    if (take_address(values[0], &address) != 0 || take_order(values[2], &order) != 0) return NULL;
    Pending* pending = new_pending(values[1], flags);
    if (pending == NULL) return NULL;
    void* const bytes = pending->buffer.buf;
    const size_t size = (size_t)pending->buffer.len;
    const bool is_get = (flags & PyBUF_WRITABLE) != 0;
    acp_handle_t handle = ACP_HANDLE_NULL;
    if (shall_unlock(size)) {
        WITHOUT_LOCK(handle = is_get ? acp_get(bytes, address, size, order)
                                     : acp_put(address, bytes, size, order));
    } else {
        handle =
            is_get ? acp_get(bytes, address, size, order) : acp_put(address, bytes, size, order);
    }
    return new_handle(handle, pending);
}

static PyObject* put(PyObject* module,
                     PyObject* const* arguments,
                     Py_ssize_t count,
                     PyObject* names) {
    static const char* const parameters[] = {"address", "buffer", "after", NULL};
    static const Signature signature = {"put", parameters, 2};
    (void)module;
    return copy_bytes(&signature, arguments, count, names, PyBUF_SIMPLE);
}

static PyObject* get(PyObject* module,
                     PyObject* const* arguments,
                     Py_ssize_t count,
                     PyObject* names) {
    static const char* const parameters[] = {"address", "buffer", "after", NULL};
    static const Signature signature = {"get", parameters, 2};
    (void)module;
    return copy_bytes(&signature, arguments, count, names, PyBUF_WRITABLE);
}

static PyObject* copy(PyObject* module,
                      PyObject* const* arguments,
                      Py_ssize_t count,
                      PyObject* names) {
    static const char* const parameters[] = {"target", "source", "size", "after", NULL};
    static const Signature signature = {"copy", parameters, 3};
    (void)module;
    PyObject* values[4];
    acp_ga_t target = ACP_GA_NULL;
    acp_ga_t source = ACP_GA_NULL;
    size_t size = 0;
    acp_handle_t order = ACP_HANDLE_NULL;
    acp_handle_t handle = ACP_HANDLE_NULL;
    if (take_arguments(&signature, arguments, count, names, values) != 0 || require_job() != 0)
        return NULL;
    if (take_address(values[0], &target) != 0 || take_address(values[1], &source) != 0 ||
        take_bytes(values[2], "size", &size) != 0 || take_order(values[3], &order) != 0) {
        return NULL;
    }
    if (shall_unlock(size)) {
        WITHOUT_LOCK(handle = acp_copy(target, source, size, order));
    } else {
        handle = acp_copy(target, source, size, order);
    }
    return new_handle(handle, NULL);
}

typedef enum { ADD, SWAP, AND, OR, XOR, MIN, MAX, COMPARE_AND_SWAP } Atomic;

/* An int that fits a word, signed or unsigned, as the word's bits. */
static int take_word(PyObject* object, int width, bool is_signed, uint64_t* word) {
    if (!PyLong_Check(object)) {
        PyErr_Format(PyExc_TypeError, "a word's value is an int, not %R",
                     (PyObject*)Py_TYPE(object));
        return -1;
    }
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0 && !(number == -1 && PyErr_Occurred())) {
        *word = (uint64_t)number;
        const int64_t most = is_signed ? INT32_MAX : (int64_t)UINT32_MAX;
        if (width == 8 || (number >= INT32_MIN && number <= most)) return 0;
    } else if (overflow > 0 && width == 8 && !is_signed) {
        *word = PyLong_AsUnsignedLongLong(object);
        return *word == UINT64_MAX && PyErr_Occurred() ? -1 : 0;
    }
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_OverflowError, "the value does not fit a word of %d bytes", width);
    return -1;
}

static uint64_t run_8(Atomic atomic, acp_ga_t address, uint64_t value, uint64_t desired) {
    switch (atomic) {
        case ADD:
            return acp_fetch_add8(address, value);
        case SWAP:
            return acp_fetch_swap8(address, value);
        case AND:
            return acp_fetch_and8(address, value);
        case OR:
            return acp_fetch_or8(address, value);
        case XOR:
            return acp_fetch_xor8(address, value);
        case MIN:
            return (uint64_t)acp_fetch_min8(address, (int64_t)value);
        case MAX:
            return (uint64_t)acp_fetch_max8(address, (int64_t)value);
        default:
            return acp_fetch_cas8(address, value, desired);
    }
}

static uint32_t run_4(Atomic atomic, acp_ga_t address, uint32_t value, uint32_t desired) {
    switch (atomic) {
        case ADD:
            return acp_fetch_add4(address, value);
        case SWAP:
            return acp_fetch_swap4(address, value);
        case AND:
            return acp_fetch_and4(address, value);
        case OR:
            return acp_fetch_or4(address, value);
        case XOR:
            return acp_fetch_xor4(address, value);
        case MIN:
            return (uint32_t)acp_fetch_min4(address, (int32_t)value);
        case MAX:
            return (uint32_t)acp_fetch_max4(address, (int32_t)value);
        default:
            return acp_fetch_cas4(address, value, desired);
    }
}

static uint64_t run_word(
    Atomic atomic, int width, acp_ga_t address, uint64_t value, uint64_t desired) {
    return width == 8 ? run_8(atomic, address, value, desired)
                      : run_4(atomic, address, (uint32_t)value, (uint32_t)desired);
}

static int take_width(PyObject* object, int* width) {
    *width = 8;
    if (object == NULL) return 0;
    const long number = PyLong_AsLong(object);
    if (number == -1 && PyErr_Occurred()) return -1;
    if (number != 4 && number != 8) {
        PyErr_Format(PyExc_ValueError, "width is %ld; a word has 4 or 8 bytes", number);
        return -1;
    }
    *width = (int)number;
    return 0;
}

static PyObject* run_atomic(Atomic atomic,
                            const char* function,
                            PyObject* const* arguments,
                            Py_ssize_t count,
                            PyObject* names) {
    static const char* const one[] = {"address", "value", "width", NULL};
    static const char* const two[] = {"address", "expected", "desired", "width", NULL};
    const bool is_compare = atomic == COMPARE_AND_SWAP;
    const bool is_signed = atomic == MIN || atomic == MAX;
    const Signature signature = {function, is_compare ? two : one, is_compare ? 3 : 2};
    PyObject* values[4];
    acp_ga_t address = ACP_GA_NULL;
    int width = 8;
    uint64_t value = 0;
    uint64_t desired = 0;
    if (take_arguments(&signature, arguments, count, names, values) != 0 || require_job() != 0)
        return NULL;
    if (take_address(values[0], &address) != 0 ||
        take_width(values[is_compare ? 3 : 2], &width) != 0 ||
        take_word(values[1], width, is_signed, &value) != 0 ||
        (is_compare && take_word(values[2], width, false, &desired) != 0)) {
        return NULL;
    }
    uint64_t old = 0;
    int code = ACP_OK;
    if (acp_query_address(address) != NULL) {
        acp_clear_errno(); /* 0 is an old value as well as a failure */
        old = run_word(atomic, width, address, value, desired);
        code = old == 0 ? acp_errno() : ACP_OK;
    } else {
        WITHOUT_LOCK({
            acp_clear_errno();
            old = run_word(atomic, width, address, value, desired);
            code = old == 0 ? acp_errno() : ACP_OK;
        });
    }
    if (code != ACP_OK) return raise_code(code, NULL);
    if (!is_signed) return PyLong_FromUnsignedLongLong(old);
    return PyLong_FromLongLong(width == 8 ? (int64_t)old : (int64_t)(int32_t)(uint32_t)old);
}

#define DEFINE_ATOMIC(name, atomic)                                                       \
    static PyObject* name(PyObject* module, PyObject* const* arguments, Py_ssize_t count, \
                          PyObject* names) {                                              \
        (void)module;                                                                     \
        return run_atomic(atomic, #name, arguments, count, names);                        \
    }

DEFINE_ATOMIC(fetch_add, ADD)
DEFINE_ATOMIC(swap, SWAP)
DEFINE_ATOMIC(fetch_and, AND)
DEFINE_ATOMIC(fetch_or, OR)
DEFINE_ATOMIC(fetch_xor, XOR)
DEFINE_ATOMIC(fetch_min, MIN)
DEFINE_ATOMIC(fetch_max, MAX)
DEFINE_ATOMIC(compare_and_swap, COMPARE_AND_SWAP)

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL | METH_KEYWORDS
#define ATOMIC_TEXT                                                                                \
    "\n\naddress: of a word of width bytes, 4 or 8, at a multiple of it, on any rank. Values are " \
    "ints that fit it;\n"                                                                          \
    "negative ones stand for their two's complement. Blocks, without the GIL, until the word's "   \
    "owner or its node has\n"                                                                      \
    "answered; not where the word is mapped. AddressError, StaleError, PeerError, or Error (not "  \
    "aligned)."

static PyMethodDef functions[] = {
    {"put", FAST(put),
     "put(address, buffer, after=None) -> Handle\n\nCopies the bytes of a contiguous buffer to an "
     "address. The buffer is kept, and shall not change,\n"
     "until the handle is done. after: a Handle: that command and all earlier ones are complete "
     "before this one starts;\n"
     "ALL: all commands. Failures of the command are raised by Handle.wait(). TypeError, "
     "BufferError: the buffer.\n"
     "Does not wait for the command; without the GIL from 16 KiB on, and while 2**15 commands are "
     "outstanding."},
    {"get", FAST(get),
     "get(address, buffer, after=None) -> Handle\n\nCopies bytes from an address into a writable, "
     "contiguous buffer, which holds them when the handle is\n"
     "done. Otherwise as put."},
    {"copy", FAST(copy),
     "copy(target, source, size, after=None) -> Handle\n\nCopies size bytes between two addresses, "
     "of any ranks. The ranges shall not overlap. Otherwise as put."},
    {"fetch_add", FAST(fetch_add),
     "fetch_add(address, value, width=8) -> int\n\nAdds, modulo 2**(8 * width), and returns the "
     "old value, unsigned." ATOMIC_TEXT},
    {"swap", FAST(swap),
     "swap(address, value, width=8) -> int\n\nStores value, and returns the old one, "
     "unsigned." ATOMIC_TEXT},
    {"fetch_and", FAST(fetch_and),
     "fetch_and(address, value, width=8) -> int\n\nword & value; returns the old value, "
     "unsigned." ATOMIC_TEXT},
    {"fetch_or", FAST(fetch_or),
     "fetch_or(address, value, width=8) -> int\n\nword | value; returns the old value, "
     "unsigned." ATOMIC_TEXT},
    {"fetch_xor", FAST(fetch_xor),
     "fetch_xor(address, value, width=8) -> int\n\nword ^ value; returns the old value, "
     "unsigned." ATOMIC_TEXT},
    {"fetch_min", FAST(fetch_min),
     "fetch_min(address, value, width=8) -> int\n\nThe lesser of word and value, both signed; "
     "returns the old value." ATOMIC_TEXT},
    {"fetch_max", FAST(fetch_max),
     "fetch_max(address, value, width=8) -> int\n\nThe greater of word and value, both signed; "
     "returns the old value." ATOMIC_TEXT},
    {"compare_and_swap", FAST(compare_and_swap),
     "compare_and_swap(address, expected, desired, width=8) -> int\n\nStores desired if the word "
     "equals expected; returns the old value, unsigned." ATOMIC_TEXT},
    {NULL, NULL, 0, NULL},
};

int add_access(PyObject* module) {
    return PyModule_AddFunctions(module, functions);
}
