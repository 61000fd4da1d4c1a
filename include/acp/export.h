/* SPDX-License-Identifier: BSD-3-Clause */
/* How a public symbol is marked. The library itself is built with hidden visibility. */
#ifndef ACP_EXPORT_H
#define ACP_EXPORT_H

#define ACP_API __attribute__((visibility("default")))

#endif
