/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments: memory of any rank as a Python object. All functions run with the interpreter's lock. */
#ifndef ACP_PYTHON_SEGMENT_H
#define ACP_PYTHON_SEGMENT_H

#include "job.h"

int add_segment(PyObject* module);

#endif
