// SPDX-License-Identifier: Apache-2.0
// Umbrella header: libstrophe, and the Linux calls that its loop needs, for the XMPPStream target.
#ifndef CSTROPHE_H
#define CSTROPHE_H

#include <malloc.h>
#include <strophe.h>
#include <sys/eventfd.h>

#endif
