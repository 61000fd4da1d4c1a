// SPDX-License-Identifier: BSD-3-Clause
// A mark for measured loops: the compiler must neither merge them with their callers nor learn their arguments
// from them. Any thread.
#pragma once

// gcc's noipa forbids cloning and passing on constants too, which clang does not do to what it may not inline.
#ifdef __clang__
#define ACP_OPAQUE [[gnu::noinline]]
#else
#define ACP_OPAQUE [[gnu::noipa]]
#endif
