/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands and atomics on addresses, as functions of the module. */
#ifndef ACP_PYTHON_ACCESS_H
#define ACP_PYTHON_ACCESS_H

#include "job.h"

int add_access(PyObject* module);

#endif
