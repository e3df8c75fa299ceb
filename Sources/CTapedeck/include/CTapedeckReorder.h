// SPDX-License-Identifier: Apache-2.0
//
// RTP packets of one source put in order, and asked for again when they are missing.
//
//   rtpssrcdemux ──► reorder buffer ──► rtpptdemux ──► webrtcbin src pad
//     thread that reads the socket        the same thread; the system clock's, when packets stop coming

#ifndef CTAPEDECK_REORDER_H
#define CTAPEDECK_REORDER_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stdint.h>

/// The fate of a packet that was put into a window.
typedef enum {
    /// It is in the window; it, and more, may be taken.
    CTAPEDECK_PACKET_KEPT = 1,
    /// Another one with its sequence number is in the window.
    CTAPEDECK_PACKET_DUPLICATE = 2,
    /// Its slot has been taken already, by an earlier copy or by its loss.
    CTAPEDECK_PACKET_LATE = 3,
    /// Its sequence number is far off: it is kept aside, for the next one to confirm that the sender restarted its
    /// numbers (RFC 3550 appendix A.1).
    CTAPEDECK_PACKET_ASIDE = 4,
    /// There is no room for it: the oldest missing packets are abandoned. Take what the window returns, then put it
    /// again.
    CTAPEDECK_PACKET_NO_ROOM = 5,
} CTapedeckPacketFate;

/// The next item of a window.
typedef enum {
    /// Nothing, until another packet or the deadline comes.
    CTAPEDECK_NEXT_NOTHING = 0,
    /// A packet.
    CTAPEDECK_NEXT_PACKET = 1,
    /// A packet that is abandoned.
    CTAPEDECK_NEXT_LOSS = 2,
} CTapedeckNextKind;

/// One step out of a window.
typedef struct {
    CTapedeckNextKind kind;
    uint16_t sequence;
    /// A packet: the caller's from now on.
    GstBuffer *packet;
} CTapedeckNext;

/// A packet to ask for again.
typedef struct {
    uint16_t sequence;
    /// How often it was asked for before.
    uint32_t requests;
    /// How long it has been missing.
    int64_t missing_nanoseconds;
} CTapedeckRequest;

/// Counters of a window.
typedef struct {
    uint64_t lost;
    uint64_t late;
    uint64_t duplicates;
    /// Packets far off that no next one confirmed.
    uint64_t strays;
    /// Packets that the window held when it was cleared.
    uint64_t cleared;
    /// Packets that came after they had been asked for.
    uint64_t repaired;
    /// From asking for a packet to its coming, smoothed; 0 before the first.
    int64_t round_trip_nanoseconds;
} CTapedeckReorderCounters;

/// The packets of one source that wait for one that is missing: no thread, no clock, no events.
///
/// While nothing is missing it holds nothing. Times are nanoseconds of any clock that does not go back. One thread at a
/// time.
typedef struct CTapedeckReorderWindow CTapedeckReorderWindow;

/// A missing packet is abandoned after `latency_nanoseconds`.
CTapedeckReorderWindow *CTapedeck_reorder_window_new(int64_t latency_nanoseconds);
void CTapedeck_reorder_window_free(CTapedeckReorderWindow *window);
void CTapedeck_reorder_window_set_latency(CTapedeckReorderWindow *window, int64_t latency_nanoseconds);
/// Takes the packet over if it is kept or kept aside.
CTapedeckPacketFate CTapedeck_reorder_window_put(CTapedeckReorderWindow *window, uint16_t sequence, GstBuffer *packet,
                                                 int64_t now);
CTapedeckNext CTapedeck_reorder_window_take(CTapedeckReorderWindow *window, int64_t now);
/// The next packet to ask for now. False if there is none.
bool CTapedeck_reorder_window_request(CTapedeckReorderWindow *window, int64_t now, CTapedeckRequest *request);
/// When it is worth while to look for a packet to ask for; INT64_MAX if never.
int64_t CTapedeck_reorder_window_request_at(const CTapedeckReorderWindow *window);
/// When there is something to take or to ask for though no packet comes; INT64_MAX if never.
int64_t CTapedeck_reorder_window_deadline(const CTapedeckReorderWindow *window, bool asks);
CTapedeckReorderCounters CTapedeck_reorder_window_counters(const CTapedeckReorderWindow *window);
/// Packets that it holds.
uint32_t CTapedeck_reorder_window_held(const CTapedeckReorderWindow *window);
/// Packets that were put into it and never came out, for each of the reasons that are counted.
uint64_t CTapedeck_reorder_window_dropped(const CTapedeckReorderWindow *window);
/// Lets go of what it holds; the next packet is the first one.
void CTapedeck_reorder_window_clear(CTapedeckReorderWindow *window);

#endif
