// SPDX-License-Identifier: Apache-2.0
//
// The receiving side's work per packet: the RTP clock, counters, and a bounded queue of units for one reader.
//
//   webrtcbin src pad ──probe──► depayloader ──► appsink ──callback──► unit queue ──pop──► recorder thread (Swift)
//     streaming thread: unwrap the RTP time stamp,          streaming thread:               reader's thread
//     tag the first packet of each, count                   match unit and tag, push
//
//   webrtcbin src pad ──probe──► unit queue      Audio and VP8: the probe makes the units too, and the packets end there.

#ifndef CTAPEDECK_RECEIVE_H
#define CTAPEDECK_RECEIVE_H

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <stdbool.h>
#include <stdint.h>

#include "CTapedeckSound.h"

/// The kind of a popped item.
typedef enum {
    /// One access unit, frame or audio packet.
    CTAPEDECK_ITEM_UNIT = 1,
    /// One RTCP sender report (RFC 3550 section 6.4.1).
    CTAPEDECK_ITEM_SENDER_REPORT = 2,
    /// All that was in the queue before it was marked has been taken.
    CTAPEDECK_ITEM_MARK = 3,
} CTapedeckItemKind;

/// One item of the queue. Filled by pop; its memory is valid until CTapedeck_item_release.
typedef struct {
    CTapedeckItemKind kind;
    /// The tap's id for a unit, the receiver's id for a sender report, the number of a mark.
    uint64_t source;
    /// SSRC of the sender.
    uint32_t ssrc;
    /// Unit: unwrapped RTP time stamp; it starts at the first packet's own 32-bit value. Report: the raw 32 bits.
    int64_t rtp_time;
    /// CLOCK_MONOTONIC in nanoseconds when the first packet of the unit, or the report, came, or the queue was marked.
    int64_t arrival_nanoseconds;
    /// Report: NTP time stamp, 32.32 fixed point.
    uint64_t ntp_time;
    /// Unit: packets found missing since the previous unit.
    uint32_t lost_before;
    /// Unit: whether packets of the unit itself are missing.
    bool truncated;
    /// Unit: how many packets are in it.
    uint32_t packets;
    /// Unit: quarter turns clockwise that make its frame upright, 0 to 3; negative if its sender never said.
    int8_t orientation;
    /// Unit: the bytes.
    const uint8_t *data;
    size_t size;
    /// Private.
    GstBuffer *buffer;
    GstMapInfo map;
} CTapedeckItem;

/// A bounded queue with one reader. Thread-safe; reference counted.
typedef struct CTapedeckQueue CTapedeckQueue;

/// Takes at most `maximum_items` units of `maximum_bytes`, and a sixteenth as many sender reports; anything beyond is
/// dropped and counted. A full queue is shared: a unit of a source that has less in it than another replaces the
/// other's newest unit, which is reported as lost before that source's next one.
CTapedeckQueue *CTapedeck_queue_new(uint32_t maximum_items, size_t maximum_bytes);
CTapedeckQueue *CTapedeck_queue_ref(CTapedeckQueue *queue);
void CTapedeck_queue_unref(CTapedeckQueue *queue);
/// Copies the item and takes its own reference to the buffer. False if it was dropped. Any thread.
bool CTapedeck_queue_push(CTapedeckQueue *queue, const CTapedeckItem *item);
/// Puts a mark behind what is in the queue, which always has room for it. Any thread.
void CTapedeck_queue_mark(CTapedeckQueue *queue, uint64_t number);
/// Takes the first item. False if there is none. The reader's thread.
bool CTapedeck_queue_pop(CTapedeckQueue *queue, CTapedeckItem *item);
/// Whether there is an item, or the queue was woken since the last pop. Any thread.
bool CTapedeck_queue_has_news(CTapedeckQueue *queue);
/// Waits for that until the deadline, on g_get_monotonic_time's clock. The reader of a queue without the bell of others.
bool CTapedeck_queue_wait(CTapedeckQueue *queue, int64_t deadline_microseconds);
void CTapedeck_item_release(CTapedeckItem *item);
/// Has the reader look after the queue at once. Any thread.
void CTapedeck_queue_wake(CTapedeckQueue *queue);
/// Units dropped because the reader was too slow.
uint64_t CTapedeck_queue_dropped(CTapedeckQueue *queue);
/// Units of one source that were dropped, until it leaves, and the packets of those that the queue had taken and dropped for
/// units of others. Any thread.
uint64_t CTapedeck_queue_dropped_of(CTapedeckQueue *queue, uint64_t source, uint64_t *evicted_packets);
/// The source pushes no more; what of it waits stays. Any thread.
void CTapedeck_queue_leave(CTapedeckQueue *queue, uint64_t source);

/// What wakes the one reader of many queues, once for all that has come. Thread-safe; reference counted.
///
///   push ──► queue ─┐                   ┌─► waits while no queue has anything
///   push ──► queue ─┼─► bell ──rings──► reader's thread: one turn for each queue
///   push ──► queue ─┘     │             └─► a turn that hangs is reported by the thread that pushes next
typedef struct CTapedeckBell CTapedeckBell;

/// Reports the turn that began at an instant: it takes longer than CTAPEDECK_LONGEST_TURN_MILLISECONDS. Any thread that gives
/// one of the queues something, once for each turn; must not block.
typedef void (*CTapedeckHang)(int64_t began, void *user);

CTapedeckBell *CTapedeck_bell_new(CTapedeckHang report, void *user);
CTapedeckBell *CTapedeck_bell_ref(CTapedeckBell *bell);
void CTapedeck_bell_unref(CTapedeckBell *bell);
/// Waits until a queue has something, or for the deadline, on g_get_monotonic_time's clock. The reader's thread. False if
/// none has.
bool CTapedeck_bell_wait(CTapedeckBell *bell, int64_t deadline_microseconds);
/// The reader begins to take something from one of the queues; returns the instant for the end.
int64_t CTapedeck_bell_turn_begins(CTapedeckBell *bell);
/// False if the turn took too long, whether or not it was reported.
bool CTapedeck_bell_turn_ends(CTapedeckBell *bell, int64_t began);
/// The queue's reader has this bell from now on; NULL for none but this queue's. Any thread.
void CTapedeck_queue_use_bell(CTapedeckQueue *queue, CTapedeckBell *bell);
/// Reports a turn of the queue's reader that hangs, if none has pushed anything. Any thread.
void CTapedeck_queue_look_after_reader(CTapedeckQueue *queue);
/// Until as many calls of CTapedeck_queue_release_wake what the calling thread pushes into queues of one bell, the first that
/// it pushes into, does not wake a reader that waits: it is woken then, once. A reader that does not wait finds each item as
/// ever.
void CTapedeck_queue_hold_wake(void);
void CTapedeck_queue_release_wake(void);

/// Counters of one tap; a consistent-enough copy, any thread.
typedef struct {
    uint64_t packets;
    uint64_t bytes;
    uint64_t lost;
    uint64_t repaired;
    uint64_t units;
    uint64_t dropped;
    /// Packets that say that they end in padding, which looks like media; their fate is counted as well.
    uint64_t doubtful;
    /// Frames that their numbers show to be missing, though no packet is: a server lost them.
    uint64_t skipped;
    /// Each packet has one of the fates from here on. This one: nothing to record is in it, as in padding.
    uint64_t empty;
    /// It came after packets that were to follow it.
    uint64_t late;
    /// VP8: the first keyframe was still to come.
    uint64_t before_keyframe;
    /// Others of its unit never came, or its sender did not end the unit.
    uint64_t incomplete;
    /// It, or its unit, cannot be decoded.
    uint64_t undecodable;
    /// There was no room for its unit: before it ended, or in the queue.
    uint64_t queue_full;
    /// It is in a unit that the queue took and kept for its reader.
    uint64_t in_units;
    /// It waits for the rest of its unit.
    uint64_t waiting;
    /// CLOCK_MONOTONIC in nanoseconds of the last packet; 0 before the first.
    int64_t last_packet_nanoseconds;
} CTapedeckTapCounters;

/// The tap of one received track. Reference counted: the owner holds one, each installed callback holds one.
typedef struct CTapedeckTap CTapedeckTap;

/// `id` comes back as `source` of each item. `same_ssrc` is a tap of another payload type of the same SSRC, or NULL: what
/// goes to one of them is no gap to the other. `same_connection` is a tap of the same connection, or NULL: together they may have
/// so many bytes of units that have begun (depayloader.h).
CTapedeckTap *CTapedeck_tap_new(uint64_t id, uint32_t ssrc, CTapedeckQueue *queue, CTapedeckTap *same_ssrc,
                                CTapedeckTap *same_connection);
CTapedeckTap *CTapedeck_tap_ref(CTapedeckTap *tap);
void CTapedeck_tap_unref(CTapedeckTap *tap);
/// The maker of units from a tap's packets.
typedef enum {
    /// Elements behind the pad, at whose end is the appsink.
    CTAPEDECK_DEPAYLOAD_ELSEWHERE = 0,
    /// The tap: each payload is a unit (RFC 7587 section 4.2 for Opus, RFC 3551 for G.711).
    CTAPEDECK_DEPAYLOAD_SOUND = 1,
    /// The tap: VP8 (RFC 7741).
    CTAPEDECK_DEPAYLOAD_VP8 = 2,
    /// Elements, the first of which is rtph264depay: packets that it cannot take are left out.
    CTAPEDECK_DEPAYLOAD_H264_ELSEWHERE = 3,
    /// Elements, the first of which is rtpvp9depay: the frames of spatial layers get the index of a superframe.
    CTAPEDECK_DEPAYLOAD_VP9_ELSEWHERE = 4,
} CTapedeckDepayload;

/// Before the tap is attached. Without this call elements do.
void CTapedeck_tap_depayload(CTapedeckTap *tap, CTapedeckDepayload kind);
/// Protects depayloaders that are in a bin, or come into it: those of H.264 from packets that they cannot take, and
/// those of H.264, VP8 and VP9 from packets that would make a frame larger than allowed (depayloader.h). Once for a
/// bin, before the first packet.
void CTapedeck_protect_depayloaders(GstElement *bin);
/// Installs the RTP clock probe on a pad that carries RTP packets; if the tap makes units of them, none goes further.
void CTapedeck_tap_attach_rtp(CTapedeckTap *tap, GstPad *rtp_pad);
/// Installs the callback of the appsink at the end of the track's branch.
void CTapedeck_tap_attach_sink(CTapedeckTap *tap, GstElement *appsink);
/// Stops pushing: later units are dropped without being counted as queue overflow. Any thread.
void CTapedeck_tap_close(CTapedeckTap *tap);
CTapedeckTapCounters CTapedeck_tap_counters(CTapedeckTap *tap);
/// Reads levels from the header extension `id` (RFC 6464), 1 to 14. Before the pad carries packets.
void CTapedeck_tap_read_levels(CTapedeckTap *tap, uint8_t id);
/// Reads the orientation of video from the header extension `id` (3GPP TS 26.114, 7.4.5), 1 to 14. Before the pad carries packets.
void CTapedeck_tap_read_orientation(CTapedeckTap *tap, uint8_t id);
/// The level in the extension. Any thread.
CTapedeckSoundLevel CTapedeck_tap_sound_level(CTapedeckTap *tap);

/// The RTCP watcher of one peer connection. Reference counted like a tap.
typedef struct CTapedeckReceiver CTapedeckReceiver;

/// `id` comes back as `source` of each sender report. `queue` may be NULL: then reports are only timed. `base_nanoseconds`
/// is the base time of the connection's pipeline, which reports' time stamps count from.
CTapedeckReceiver *CTapedeck_receiver_new(uint64_t id, CTapedeckQueue *queue, int64_t base_nanoseconds);
CTapedeckReceiver *CTapedeck_receiver_ref(CTapedeckReceiver *receiver);
void CTapedeck_receiver_unref(CTapedeckReceiver *receiver);
/// Watches an RTPSession (property `internal-session` of the element rtpsession).
void CTapedeck_receiver_watch(CTapedeckReceiver *receiver, gpointer rtp_session);
/// CLOCK_MONOTONIC in nanoseconds of the last RTCP packet; 0 before the first. Any thread.
int64_t CTapedeck_receiver_last_report_nanoseconds(CTapedeckReceiver *receiver);
/// Sender reports that were not passed on: too many, or too soon after one of the same source. Any thread.
uint64_t CTapedeck_receiver_dropped_reports(CTapedeckReceiver *receiver);

/// CLOCK_MONOTONIC in nanoseconds: the clock of every arrival time here.
int64_t CTapedeck_monotonic_nanoseconds(void);
/// How long the machine was suspended since it started, in nanoseconds: CLOCK_MONOTONIC stood still in that time.
int64_t CTapedeck_suspended_nanoseconds(void);

/// One step of the RTP clock: the 64-bit time nearest to `previous` whose low 32 bits are `rtp_time` (RFC 3550
/// section 5.1: time stamps wrap; steps of less than half the range in either direction are unambiguous).
int64_t CTapedeck_unwrap_rtp_time(int64_t previous, uint32_t rtp_time);

#endif
