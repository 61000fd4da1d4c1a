/* SPDX-License-Identifier: BSD-3-Clause */
/* The extension acp4py._acp: puts its parts together. One for each process; sub-interpreters with
 * locks of their own are refused by Python, since the state is the process's. */
#include "access.h"
#include "handle.h"
#include "job.h"
#include "map.h"
#include "segment.h"

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "acp4py._acp",
    .m_doc = "ACP for Python, in C. Programs import acp4py.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__acp(void) {
    PyObject* module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    if (add_errors(module) != 0 || add_job(module) != 0 || add_handle(module) != 0 ||
        add_segment(module) != 0 || add_access(module) != 0 || add_map(module) != 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
