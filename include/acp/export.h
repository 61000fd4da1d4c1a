/* SPDX-License-Identifier: BSD-3-Clause */
/* How a public symbol is marked. The library itself is built with hidden visibility. */
#ifndef ACP_EXPORT_H
#define ACP_EXPORT_H

/* With the attribute noplt a program calls a function of the library through the pointer that the
 * loader has set, without the jump through the PLT. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define ACP_CALLED_BY_POINTER __attribute__((noplt))
#endif
#endif
#ifndef ACP_CALLED_BY_POINTER
#define ACP_CALLED_BY_POINTER
#endif

#define ACP_API __attribute__((visibility("default"))) ACP_CALLED_BY_POINTER

#endif
