// SPDX-License-Identifier: Apache-2.0
// The writing end of the unit queue: only the taps and receivers of this module use it.

#ifndef CTAPEDECK_QUEUE_H
#define CTAPEDECK_QUEUE_H

#include "CTapedeckCapture.h"

/// Copies the item and takes its own reference to the buffer. False if it was dropped. Any thread.
bool CTapedeck_queue_push(CTapedeckQueue *queue, const CTapedeckItem *item);

#endif
