// SPDX-License-Identifier: Apache-2.0
//
// Packets that wait for something, oldest first, and not more of them than may.

#ifndef CTAPEDECK_HELD_PACKETS_H
#define CTAPEDECK_HELD_PACKETS_H

#include <gst/gst.h>
#include <stdbool.h>

/// All zero at first. One thread at a time.
typedef struct {
    GQueue packets;
    size_t bytes;
} HeldPackets;

/// Takes the packet over; drops it, and returns false, if there would be more than `maximum_packets` or `maximum_bytes`, so that
/// it is missed by its sequence number.
bool held_packets_add(HeldPackets *held, GstBuffer *packet, guint maximum_packets, size_t maximum_bytes);
/// The oldest, the caller's to free; NULL if there is none.
GstBuffer *held_packets_take(HeldPackets *held);
void held_packets_clear(HeldPackets *held);

#endif
