/* SPDX-License-Identifier: BSD-3-Clause */
/* A header that sources for VEO include; acp/compat_veo.h has its functions. */
#ifndef ACP_VEO_VE_OFFLOAD_H
#define ACP_VEO_VE_OFFLOAD_H

#include <acp/compat_veo.h>

#endif
