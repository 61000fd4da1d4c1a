/* SPDX-License-Identifier: BSD-3-Clause */
/* The version of these headers, for the preprocessor. acp_version() gives that of the library at
 * run time, which may be a later one of the same major version. The build takes its own version
 * from here. */
#ifndef ACP_VERSION_H
#define ACP_VERSION_H

#define ACP_VERSION_MAJOR 4
#define ACP_VERSION_MINOR 0
#define ACP_VERSION_PATCH 0

/* For comparisons: ACP_VERSION >= 40100 where the version is 4.1.0 or a later one. */
#define ACP_VERSION (ACP_VERSION_MAJOR * 10000 + ACP_VERSION_MINOR * 100 + ACP_VERSION_PATCH)

#endif
