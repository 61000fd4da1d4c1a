// SPDX-License-Identifier: BSD-3-Clause
// A mark for measured loops: the compiler must neither merge them with their callers nor learn
// their arguments from them. Each begins a cache line, so that it is not a matter of chance how a
// short loop lies in them. Any thread.
#pragma once

// gcc's noipa forbids cloning and passing on constants too, which clang does not do to what it may
// not inline.
#ifdef __clang__
#define ACP_OPAQUE [[gnu::noinline, gnu::aligned(64)]]
#else
#define ACP_OPAQUE [[gnu::noipa, gnu::aligned(64)]]
#endif
