// SPDX-License-Identifier: Apache-2.0
//
// Units made of the payloads of one stream, in the order of their sequence numbers: what rtpvp8depay and rtpopusdepay make,
// without an element, a buffer and a segment for each packet. The first unit of VP8 is a keyframe.

#ifndef CTAPEDECK_DEPAYLOADER_H
#define CTAPEDECK_DEPAYLOADER_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CTapedeckReceive.h"
#include "packet_fates.h"

enum {
    /// Bytes of a unit, and of all units of one connection that have begun; a sender of more does not send video.
    GATHERED_MAXIMUM = 32 << 20,
    /// Bytes of all units of the process that have begun. A unit of modest size may continue also beyond: unfinished
    /// units of other senders never cost a sender a usual frame.
    GATHERED_MAXIMUM_TOGETHER = 96 << 20,
    GATHERED_MODEST = 1 << 20,
    /// Memory of a packet that one of GStreamer's depayloaders keeps, in addition to its bytes: the buffer and its
    /// memory.
    PACKET_COST = 512,
};

/// Counts the bytes of units of one connection that have begun. Reference counted; any thread.
typedef struct Gathered Gathered;

Gathered *gathered_new(void);
Gathered *gathered_ref(Gathered *gathered);
void gathered_unref(Gathered *gathered);
/// Whether a unit of `own` bytes may get `size` more, which are counted then.
bool gathered_add(Gathered *gathered, size_t own, size_t size);
void gathered_remove(Gathered *gathered, size_t size);

/// All zero at first but for its kind and what counts its bytes and packets. One thread at a time.
typedef struct {
    CTapedeckDepayload kind;
    Gathered *gathered;
    // Counts the packets that are in no unit.
    PacketFates *fates;
    // The unit that has begun; NULL between units.
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    uint32_t packets;
    // There was no room for the unfinished unit.
    bool is_overfull;
    // A frame that can be decoded alone was passed on.
    bool has_keyframe;
} Depayloader;

/// The result of one packet.
typedef struct {
    /// A whole unit, the caller's; NULL if none ends here.
    GstBuffer *unit;
    /// How many packets are in it.
    uint32_t packets;
    /// This packet is the first one of a unit.
    bool has_begun;
    /// A unit that had begun before this packet will never be whole, and is thrown away.
    bool is_torn;
    /// The data that end here are no unit, and are dropped.
    bool is_broken;
} Depayloaded;

/// `payload` is without header and padding, and may be NULL with `size` 0. `is_after_gap`: packets before it are missing.
Depayloaded depayloader_take(Depayloader *depayloader, const uint8_t *payload, size_t size, bool marker,
                             bool is_after_gap);
void depayloader_clear(Depayloader *depayloader);

#endif
