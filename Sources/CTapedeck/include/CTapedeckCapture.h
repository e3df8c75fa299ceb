// SPDX-License-Identifier: Apache-2.0
//
// The receiving side's work per packet: the RTP clock, counters, and a bounded queue of units for one reader.
//
//   webrtcbin src pad ──probe──► depayloader ──► appsink ──callback──► unit queue ──pop──► recorder thread (Swift)
//     streaming thread: unwrap the RTP time stamp,          streaming thread:               reader's thread
//     tag the first packet of each, count                   match unit and tag, push

#ifndef CTAPEDECK_CAPTURE_H
#define CTAPEDECK_CAPTURE_H

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <stdbool.h>
#include <stdint.h>

/// What a popped item is.
typedef enum {
    /// One access unit, frame or audio packet.
    CTAPEDECK_ITEM_UNIT = 1,
    /// One RTCP sender report (RFC 3550 section 6.4.1).
    CTAPEDECK_ITEM_SENDER_REPORT = 2,
} CTapedeckItemKind;

/// One item of the queue. Filled by pop; its memory is valid until CTapedeck_item_release.
typedef struct {
    CTapedeckItemKind kind;
    /// The tap's id for a unit, the receiver's id for a sender report.
    uint64_t source;
    /// SSRC of the sender.
    uint32_t ssrc;
    /// Unit: unwrapped RTP time stamp; it starts at the first packet's own 32-bit value. Report: the raw 32 bits.
    int64_t rtp_time;
    /// CLOCK_MONOTONIC in nanoseconds when the first packet of the unit, or the report, came.
    int64_t arrival_nanoseconds;
    /// Report: NTP time stamp, 32.32 fixed point.
    uint64_t ntp_time;
    /// Unit: packets found missing since the previous unit.
    uint32_t lost_before;
    /// Unit: the bytes.
    const uint8_t *data;
    size_t size;
    /// Private.
    GstBuffer *buffer;
    GstMapInfo map;
} CTapedeckItem;

/// A bounded queue with one reader. Thread-safe; reference counted.
typedef struct CTapedeckQueue CTapedeckQueue;

/// Takes at most `maximum_items` and `maximum_bytes`; what comes on top is dropped and counted.
CTapedeckQueue *CTapedeck_queue_new(uint32_t maximum_items, size_t maximum_bytes);
CTapedeckQueue *CTapedeck_queue_ref(CTapedeckQueue *queue);
void CTapedeck_queue_unref(CTapedeckQueue *queue);
/// Waits at most `timeout_microseconds` for an item. False if none came or the queue was woken.
bool CTapedeck_queue_pop(CTapedeckQueue *queue, CTapedeckItem *item, int64_t timeout_microseconds);
void CTapedeck_item_release(CTapedeckItem *item);
/// Makes a waiting pop return at once. Any thread.
void CTapedeck_queue_wake(CTapedeckQueue *queue);
/// Units dropped because the reader was too slow.
uint64_t CTapedeck_queue_dropped(CTapedeckQueue *queue);

/// Counters of one tap; a consistent-enough copy, any thread.
typedef struct {
    uint64_t packets;
    uint64_t bytes;
    uint64_t lost;
    uint64_t units;
    /// CLOCK_MONOTONIC in nanoseconds of the last packet; 0 before the first.
    int64_t last_packet_nanoseconds;
} CTapedeckTapCounters;

/// The tap of one received track. Reference counted: the owner holds one, each installed callback holds one.
typedef struct CTapedeckTap CTapedeckTap;

/// `id` comes back as `source` of each item.
CTapedeckTap *CTapedeck_tap_new(uint64_t id, uint32_t ssrc, CTapedeckQueue *queue);
CTapedeckTap *CTapedeck_tap_ref(CTapedeckTap *tap);
void CTapedeck_tap_unref(CTapedeckTap *tap);
/// Installs the RTP clock probe on a pad that carries RTP packets.
void CTapedeck_tap_attach_rtp(CTapedeckTap *tap, GstPad *rtp_pad);
/// Installs the callback of the appsink at the end of the track's branch.
void CTapedeck_tap_attach_sink(CTapedeckTap *tap, GstElement *appsink);
/// Stops pushing: later units are dropped without being counted as queue overflow. Any thread.
void CTapedeck_tap_close(CTapedeckTap *tap);
CTapedeckTapCounters CTapedeck_tap_counters(CTapedeckTap *tap);

/// The RTCP watcher of one peer connection. Reference counted like a tap.
typedef struct CTapedeckReceiver CTapedeckReceiver;

/// `id` comes back as `source` of each sender report. `queue` may be NULL: then reports are only timed.
CTapedeckReceiver *CTapedeck_receiver_new(uint64_t id, CTapedeckQueue *queue);
void CTapedeck_receiver_unref(CTapedeckReceiver *receiver);
/// Watches an RTPSession (property `internal-session` of the element rtpsession).
void CTapedeck_receiver_watch(CTapedeckReceiver *receiver, gpointer rtp_session);
/// CLOCK_MONOTONIC in nanoseconds of the last RTCP packet; 0 before the first. Any thread.
int64_t CTapedeck_receiver_last_report_nanoseconds(CTapedeckReceiver *receiver);

/// CLOCK_MONOTONIC in nanoseconds: the clock of every arrival time here.
int64_t CTapedeck_monotonic_nanoseconds(void);

/// One step of the RTP clock: the 64-bit time nearest to `previous` whose low 32 bits are `rtp_time` (RFC 3550
/// section 5.1: time stamps wrap; steps of less than half the range in either direction are unambiguous).
int64_t CTapedeck_unwrap_rtp_time(int64_t previous, uint32_t rtp_time);

#endif
