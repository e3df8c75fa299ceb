// SPDX-License-Identifier: Apache-2.0
// Umbrella header: libnice, the ICE agent inside webrtcbin.
#ifndef CNICE_H
#define CNICE_H

#include <nice.h>

#endif
