// SPDX-License-Identifier: Apache-2.0

#include "held_packets.h"

bool held_packets_add(HeldPackets *held, GstBuffer *packet, guint maximum_packets, size_t maximum_bytes) {
    size_t size = gst_buffer_get_size(packet);
    bool fits = held->packets.length < maximum_packets && held->bytes + size <= maximum_bytes;
    if (fits) {
        g_queue_push_tail(&held->packets, packet);
        held->bytes += size;
    } else {
        gst_buffer_unref(packet);
    }
    return fits;
}

GstBuffer *held_packets_take(HeldPackets *held) {
    GstBuffer *packet = g_queue_pop_head(&held->packets);
    if (packet != NULL) held->bytes -= gst_buffer_get_size(packet);
    return packet;
}

void held_packets_clear(HeldPackets *held) {
    g_queue_clear_full(&held->packets, (GDestroyNotify)gst_buffer_unref);
    held->bytes = 0;
}
