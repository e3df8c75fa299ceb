// SPDX-License-Identifier: Apache-2.0
// Umbrella header: libstrophe, and what of Linux its loop needs beside it, for the XMPPStream target.
#ifndef CSTROPHE_H
#define CSTROPHE_H

#include <malloc.h>
#include <strophe.h>
#include <sys/eventfd.h>

#endif
