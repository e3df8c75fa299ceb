// SPDX-License-Identifier: Apache-2.0

#include <gst/rtp/rtp.h>
#include <stdatomic.h>

#include "CTapedeckReceive.h"
#include "depayloader.h"
#include "frame_numbers.h"
#include "h264_passage.h"
#include "receive/header_extension.h"
#include "packet_fates.h"
#include "receive/reorder_buffer.h"
#include "rtp_clock.h"
#include "sound_meter.h"
#include "vp9_superframe.h"

// Tag on the first packet of each RTP time stamp; it survives depayloaders and parsers.
// Its time stamp is the unwrapped RTP time moved up by RTP_TIME_BIAS, as GstClockTime is unsigned; its duration is the
// arrival time.
#define RTP_TIME_BIAS ((int64_t)1 << 62)

enum {
    // A packet further back than this is not late: the sender restarted its numbers (RFC 3550 appendix A.1).
    MAXIMUM_MISORDER = 100,
    MAXIMUM_TRUNCATED = 8,
    // Padding for a cipher is at most as long as a block (RFC 3550 section 5.1).
    LONGEST_BLOCK = 16,
    LONGEST_PADDING = UINT8_MAX,
};

// Sequence numbers of one SSRC. They continue over payload types (RFC 3550 section 5.1), and each payload type has a
// tap.
typedef struct {
    gatomicrefcount references;
    // The newest one; negative before the first. One streaming thread pushes all payload types of an SSRC.
    atomic_int_fast32_t newest;
    // Numbers of packets that were passed over, so far.
    atomic_uint_fast32_t passed_over;
} Sequence;

static Sequence *sequence_new(void) {
    Sequence *sequence = g_new0(Sequence, 1);
    g_atomic_ref_count_init(&sequence->references);
    atomic_init(&sequence->newest, -1);
    return sequence;
}

static Sequence *sequence_ref(Sequence *sequence) {
    g_atomic_ref_count_inc(&sequence->references);
    return sequence;
}

static void sequence_unref(Sequence *sequence) {
    if (g_atomic_ref_count_dec(&sequence->references)) g_free(sequence);
}

struct CTapedeckTap {
    gatomicrefcount references;
    uint64_t id;
    uint32_t ssrc;
    CTapedeckQueue *queue;
    GstCaps *tag;
    Sequence *sequence;
    atomic_bool closed;
    // Header extensions of the level (RFC 6464) and of the orientation (3GPP TS 26.114, 7.4.5); 0 for none.
    uint8_t level_id;
    uint8_t orientation_id;
    SoundMeter meter;

    // Base time of the pad's element, for its buffers' time stamps; 0 where there is none.
    int64_t base_nanoseconds;

    // Streaming thread only.
    int8_t orientation;
    bool started;
    int64_t last_arrival;
    uint32_t last_rtp_time;
    int64_t unwrapped;
    uint32_t lost_since_unit;
    bool last_marker;
    // The newest times of units of which packets are missing. A depayloader may give out such a unit some packets later.
    int64_t truncated[MAXIMUM_TRUNCATED];
    uint32_t truncated_count;
    // Whether a unit may come in several buffers, and whether it is audio.
    bool has_parts;
    bool is_sound;
    bool knows_format;
    // The sender ends parts of frames with the marker that ends a frame elsewhere (RFC 6184 section 5.1).
    bool marks_parts;
    // The time of the newest unit; none before the first.
    int64_t unit_time;
    bool has_unit;
    // The beginning of a unit whose rest is to come, and that unit's times; NULL for none. Its bytes are counted.
    GByteArray *held;
    int64_t held_time;
    int64_t held_arrival;
    // Bytes that the depayloader keeps, and those of them that are of the newest NAL unit. If they get too many it is given no
    // more before the next unit begins.
    size_t undone;
    size_t of_nal_unit;
    bool is_overfull;
    H264Passage passage;
    VP9Superframe superframe;
    FrameNumbers numbers;
    // In the place of a depayloader behind the pad, and when the first packet of the unit came that it has begun.
    Depayloader depayloader;
    int64_t unit_arrival;
    // Otherwise, the packets that elements have.
    PendingPackets pending;

    atomic_uint_fast64_t packets;
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t lost;
    atomic_uint_fast64_t repaired;
    atomic_uint_fast64_t units;
    atomic_uint_fast64_t doubtful;
    atomic_uint_fast64_t skipped;
    atomic_int_fast64_t last_packet;
    PacketFates fates;
};

CTapedeckTap *CTapedeck_tap_new(uint64_t id, uint32_t ssrc, CTapedeckQueue *queue, CTapedeckTap *same_ssrc,
                                CTapedeckTap *same_connection) {
    CTapedeckTap *tap = g_new0(CTapedeckTap, 1);
    g_atomic_ref_count_init(&tap->references);
    tap->id = id;
    tap->ssrc = ssrc;
    tap->queue = CTapedeck_queue_ref(queue);
    tap->sequence = same_ssrc != NULL ? sequence_ref(same_ssrc->sequence) : sequence_new();
    tap->depayloader.gathered =
        same_connection != NULL ? gathered_ref(same_connection->depayloader.gathered) : gathered_new();
    tap->depayloader.fates = &tap->fates;
    tap->tag = gst_caps_new_empty_simple("timestamp/x-tapedeck-rtp");
    tap->orientation = -1;
    return tap;
}

CTapedeckTap *CTapedeck_tap_ref(CTapedeckTap *tap) {
    g_atomic_ref_count_inc(&tap->references);
    return tap;
}

static void forget_held(CTapedeckTap *tap) {
    if (tap->held == NULL) return;
    gathered_remove(tap->depayloader.gathered, tap->held->len);
    g_clear_pointer(&tap->held, g_byte_array_unref);
}

void CTapedeck_tap_unref(CTapedeckTap *tap) {
    if (!g_atomic_ref_count_dec(&tap->references)) return;
    CTapedeck_queue_leave(tap->queue, tap->id);
    CTapedeck_queue_unref(tap->queue);
    sequence_unref(tap->sequence);
    gst_caps_unref(tap->tag);
    forget_held(tap);
    depayloader_clear(&tap->depayloader);
    gathered_remove(tap->depayloader.gathered, tap->undone);
    gathered_unref(tap->depayloader.gathered);
    g_free(tap);
}

static void release_tap(gpointer tap) { CTapedeck_tap_unref(tap); }

// The first byte of a header extension; negative if the packet has none of that id, or the id is 0.
static int extension_byte(GstRTPBuffer *rtp, uint8_t id) {
    guint size = 0;
    const uint8_t *data = header_extension(rtp, id, &size);
    return data != NULL && size > 0 ? data[0] : -1;
}

// Reads what the packet's sender says in its header: how loud its audio is (RFC 6464 section 3), how its video is turned.
static void note_extensions(CTapedeckTap *tap, GstRTPBuffer *rtp, int64_t now) {
    int level = extension_byte(rtp, tap->level_id);
    if (level >= 0) sound_meter_note_level(&tap->meter, (uint8_t)level & 0x7F, now);
    int orientation = extension_byte(rtp, tap->orientation_id);
    if (orientation >= 0) tap->orientation = (int8_t)(orientation & 3);
}

// The position of a packet, from its headers.
typedef struct {
    // It is the first one of its time stamp.
    bool is_first;
    // It does not follow the one before.
    bool is_after_gap;
    // It is one of those that were there, or comes after them.
    bool is_late;
} Noted;

static void note_truncated(CTapedeckTap *tap) {
    uint32_t count = tap->truncated_count;
    if (count > 0 && tap->truncated[(count - 1) % MAXIMUM_TRUNCATED] == tap->unwrapped) return;
    tap->truncated[tap->truncated_count % MAXIMUM_TRUNCATED] = tap->unwrapped;
    tap->truncated_count += 1;
}

// Whether the padding that a packet with media says it ends in looks like media: bytes that differ, and more of them than a block
// has. Senders repeat one byte, mostly zero, before the last, which is the count (RFC 3550 section 5.1).
static bool has_doubtful_padding(GstBuffer *buffer, GstRTPBuffer *rtp) {
    if (!gst_rtp_buffer_get_padding(rtp) || gst_rtp_buffer_get_payload_len(rtp) == 0) return false;
    size_t packet = gst_buffer_get_size(buffer);
    size_t media = (size_t)gst_rtp_buffer_get_header_len(rtp) + gst_rtp_buffer_get_payload_len(rtp);
    uint8_t bytes[LONGEST_PADDING];
    size_t size = packet > media ? packet - media : 0;
    if (size <= LONGEST_BLOCK || size > sizeof bytes || gst_buffer_extract(buffer, media, bytes, size) != size) return false;
    size_t same = 1;
    while (same < size - 1 && bytes[same] == bytes[0]) same += 1;
    return same < size - 1;
}

// Counts one packet and unwraps its time stamp.
static Noted note_packet(CTapedeckTap *tap, GstBuffer *buffer, GstRTPBuffer *rtp, int64_t now) {
    uint32_t time = gst_rtp_buffer_get_timestamp(rtp);
    uint16_t sequence = gst_rtp_buffer_get_seq(rtp);
    bool marker = gst_rtp_buffer_get_marker(rtp);
    note_extensions(tap, rtp, now);

    atomic_fetch_add_explicit(&tap->packets, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&tap->bytes, gst_buffer_get_size(buffer), memory_order_relaxed);
    atomic_store_explicit(&tap->last_packet, now, memory_order_relaxed);
    if (has_doubtful_padding(buffer, rtp)) atomic_fetch_add_explicit(&tap->doubtful, 1, memory_order_relaxed);
    // A packet that came over RTX (RFC 4588) replaces one that was lost.
    if (GST_BUFFER_FLAG_IS_SET(buffer, GST_RTP_BUFFER_FLAG_RETRANSMISSION)) {
        atomic_fetch_add_explicit(&tap->repaired, 1, memory_order_relaxed);
    }

    int_fast32_t newest = atomic_load_explicit(&tap->sequence->newest, memory_order_relaxed);
    int16_t step = newest < 0 ? 1 : (int16_t)(sequence - (uint16_t)newest);
    uint32_t passed_over = step > 1 ? reorder_buffer_passed_over(buffer) : 0;
    if (passed_over > 0) {
        atomic_fetch_add_explicit(&tap->sequence->passed_over, passed_over, memory_order_relaxed);
        step = (int16_t)(passed_over < (uint32_t)step ? step - (int32_t)passed_over : 1);
    }
    bool is_late = tap->started && step <= 0 && step >= -MAXIMUM_MISORDER;
    // A new pad for an SSRC may also be that of a sender that restarted its numbers: its first packet is after no gap.
    if (!is_late) atomic_store_explicit(&tap->sequence->newest, sequence, memory_order_relaxed);
    if (!tap->started) {
        tap->started = true;
        tap->last_rtp_time = time;
        tap->last_marker = marker;
        tap->unwrapped = time;
        return (Noted){.is_first = true};
    }
    if (step > 0) {
        // Where the sender restarted its numbers (reorder_window.c) the number of missing packets is unknown: the time
        // between shows how long.
        bool counts_anew = step > 1 && GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_RESYNC);
        tap->lost_since_unit += counts_anew ? 1 : (uint32_t)(step - 1);
        atomic_fetch_add_explicit(&tap->lost, counts_anew ? 0 : (uint64_t)(step - 1), memory_order_relaxed);
        // Packets are missing in the middle of this unit, or at the end of the one before, which its marker would have
        // ended. Some depayloaders give out what is left of it.
        if (step > 1 && (time == tap->last_rtp_time || !tap->last_marker)) note_truncated(tap);
    }
    tap->last_marker = marker;
    Noted noted = {.is_after_gap = step != 1, .is_late = is_late};
    if (time == tap->last_rtp_time) return noted;
    tap->last_rtp_time = time;
    tap->unwrapped = CTapedeck_unwrap_rtp_time(tap->unwrapped, time);
    noted.is_first = true;
    return noted;
}

// Packets that waited for one before them count from when they could proceed.
static void note_arrival(CTapedeckTap *tap, GstBuffer *buffer, int64_t now) {
    tap->last_arrival = MAX(tap->last_arrival, rtp_clock_arrival(buffer, tap->base_nanoseconds, now));
}

// The depayloader has no more than this of what it was given.
static void keep_undone(CTapedeckTap *tap, size_t kept) {
    kept = MIN(kept, tap->undone);
    gathered_remove(tap->depayloader.gathered, tap->undone - kept);
    tap->undone = kept;
}

// Whether there is room for the packet in the depayloader, which keeps those of a unit for as long as it does not end.
static bool has_room(CTapedeckTap *tap, GstRTPBuffer *rtp, size_t size) {
    size_t cost = size + PACKET_COST;
    if (!tap->is_overfull && gathered_add(tap->depayloader.gathered, tap->undone, cost)) {
        bool goes_on = h264_goes_on(gst_rtp_buffer_get_payload(rtp), gst_rtp_buffer_get_payload_len(rtp));
        tap->undone += cost;
        tap->of_nal_unit = goes_on ? tap->of_nal_unit + cost : cost;
        return true;
    }
    tap->is_overfull = true;
    return false;
}

// Whether the depayloader can take the packet.
static bool passes(CTapedeckTap *tap, GstRTPBuffer *rtp) {
    return tap->depayloader.kind != CTAPEDECK_DEPAYLOAD_H264_ELSEWHERE ||
           h264_passage_takes(&tap->passage, gst_rtp_buffer_get_payload(rtp), gst_rtp_buffer_get_payload_len(rtp));
}

// Whether the depayloader must be notified that its data end: that of H.264 keeps whole NAL units also after a gap.
static bool has_to_end(const CTapedeckTap *tap) {
    return tap->depayloader.kind == CTAPEDECK_DEPAYLOAD_H264_ELSEWHERE && tap->is_overfull && tap->undone > 0;
}

// Whether the depayloader is given the packet. If not, the unit lacks it, which asks for a keyframe.
static bool is_given(CTapedeckTap *tap, GstRTPBuffer *rtp, size_t size, Noted noted) {
    // After a gap the other depayloaders start again, and that of H.264 after its end.
    if (noted.is_first && tap->is_overfull && !has_to_end(tap)) {
        keep_undone(tap, 0);
        tap->is_overfull = false;
    }
    bool is_empty = gst_rtp_buffer_get_payload_len(rtp) == 0;
    bool can_pass = passes(tap, rtp);
    bool is_given = can_pass && has_room(tap, rtp, size);
    // The depayloader throws away what comes late.
    if (noted.is_late || is_empty) {
        packet_fates_add(&tap->fates, noted.is_late ? FATE_LATE : FATE_EMPTY, 1);
    } else if (is_given) {
        pending_packets_add(&tap->pending, tap->unwrapped, &tap->fates);
    } else {
        packet_fates_add(&tap->fates, can_pass ? FATE_QUEUE_FULL : FATE_UNDECODABLE, 1);
    }
    if (is_given) return true;
    // The depayloader's part of it is lost with the rest.
    if (tap->is_overfull) pending_packets_end(&tap->pending, FATE_QUEUE_FULL, &tap->fates);
    note_truncated(tap);
    tap->lost_since_unit = MAX(tap->lost_since_unit, 1);
    return false;
}

// The buffer that is passed instead of a packet that is not; NULL for nothing.
static GstBuffer *ending(CTapedeckTap *tap, GstBuffer *buffer, bool is_late) {
    GstBuffer *instead = has_to_end(tap) && !is_late ? h264_ending_packet(buffer) : NULL;
    if (instead != NULL) keep_undone(tap, 0);
    return instead;
}

// Skipped packets are no gap to elements either: the following ones get numbers without it.
static GstBuffer *renumber(CTapedeckTap *tap, GstBuffer *buffer) {
    uint_fast32_t passed_over = atomic_load_explicit(&tap->sequence->passed_over, memory_order_relaxed);
    GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
    if (passed_over == 0) return buffer;
    buffer = gst_buffer_make_writable(buffer);
    if (!gst_rtp_buffer_map(buffer, GST_MAP_READWRITE, &rtp)) return buffer;
    gst_rtp_buffer_set_seq(&rtp, (uint16_t)(gst_rtp_buffer_get_seq(&rtp) - passed_over));
    gst_rtp_buffer_unmap(&rtp);
    return buffer;
}

// Counts frames that a server lost, with a packet that is not late.
static void note_skipped(CTapedeckTap *tap, GstRTPBuffer *rtp, bool is_after_gap) {
    const uint8_t *payload = gst_rtp_buffer_get_payload(rtp);
    size_t size = gst_rtp_buffer_get_payload_len(rtp);
    uint32_t skipped = 0;
    if (tap->depayloader.kind == CTAPEDECK_DEPAYLOAD_VP8) {
        skipped = frame_numbers_take_vp8(&tap->numbers, payload, size, is_after_gap);
    } else if (tap->depayloader.kind == CTAPEDECK_DEPAYLOAD_VP9_ELSEWHERE) {
        skipped = frame_numbers_take_vp9(&tap->numbers, payload, size, is_after_gap);
    }
    if (skipped > 0) atomic_fetch_add_explicit(&tap->skipped, skipped, memory_order_relaxed);
}

// The index behind the frames of VP9 of which this packet is the last; 0 bytes for none.
static size_t vp9_index(CTapedeckTap *tap, GstRTPBuffer *rtp, bool is_after_gap, uint8_t index[VP9_MAXIMUM_INDEX]) {
    if (tap->depayloader.kind != CTAPEDECK_DEPAYLOAD_VP9_ELSEWHERE) return 0;
    size_t size = vp9_superframe_take(&tap->superframe, gst_rtp_buffer_get_payload(rtp), gst_rtp_buffer_get_payload_len(rtp),
                                   gst_rtp_buffer_get_marker(rtp), is_after_gap, index);
    return gst_rtp_buffer_get_padding(rtp) ? 0 : size;
}

static GstBuffer *lengthened(GstBuffer *buffer, const uint8_t *bytes, size_t size) {
    if (size == 0) return buffer;
    buffer = gst_buffer_make_writable(buffer);
    uint8_t *copy = g_memdup2(bytes, size);
    gst_buffer_append_memory(buffer, gst_memory_new_wrapped(0, copy, size, 0, size, copy, g_free));
    return buffer;
}

// NULL if the packet is thrown away.
static GstBuffer *tag_packet(CTapedeckTap *tap, GstBuffer *buffer, int64_t now) {
    note_arrival(tap, buffer, now);
    GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
    if (!gst_rtp_buffer_map(buffer, GST_MAP_READ, &rtp)) return buffer;
    Noted noted = note_packet(tap, buffer, &rtp, now);
    bool goes_on = is_given(tap, &rtp, gst_buffer_get_size(buffer), noted);
    if (!noted.is_late) note_skipped(tap, &rtp, noted.is_after_gap);
    uint8_t index[VP9_MAXIMUM_INDEX];
    size_t index_size = noted.is_late ? 0 : vp9_index(tap, &rtp, noted.is_after_gap || !goes_on, index);
    gst_rtp_buffer_unmap(&rtp);
    buffer = renumber(tap, buffer);
    if (!goes_on) {
        GstBuffer *instead = ending(tap, buffer, noted.is_late);
        gst_buffer_unref(buffer);
        return instead;
    }
    buffer = lengthened(buffer, index, index_size);
    if (!noted.is_first) return buffer;
    buffer = gst_buffer_make_writable(buffer);
    gst_buffer_add_reference_timestamp_meta(buffer, tap->tag, (GstClockTime)(tap->unwrapped + RTP_TIME_BIAS),
                                            (GstClockTime)tap->last_arrival);
    return buffer;
}

static bool is_truncated(const CTapedeckTap *tap, int64_t time) {
    uint32_t count = MIN(tap->truncated_count, MAXIMUM_TRUNCATED);
    for (uint32_t index = 0; index < count; index++) {
        if (tap->truncated[index] == time) return true;
    }
    return false;
}

// A unit that is made of this many packets.
static void push_whole(CTapedeckTap *tap, GstBuffer *buffer, int64_t time, int64_t arrival, uint32_t packets,
                       bool truncated) {
    tap->unit_time = time;
    tap->has_unit = true;
    if (atomic_load_explicit(&tap->closed, memory_order_relaxed)) return;
    CTapedeckItem item = {
        .kind = CTAPEDECK_ITEM_UNIT,
        .source = tap->id,
        .ssrc = tap->ssrc,
        .rtp_time = time,
        .arrival_nanoseconds = arrival,
        .lost_before = tap->lost_since_unit,
        .truncated = truncated || is_truncated(tap, time),
        .packets = packets,
        .orientation = tap->orientation,
        .size = gst_buffer_get_size(buffer),
        .buffer = buffer,
    };
    if (CTapedeck_queue_push(tap->queue, &item)) {
        tap->lost_since_unit = 0;
        atomic_fetch_add_explicit(&tap->units, 1, memory_order_relaxed);
        packet_fates_add(&tap->fates, FATE_IN_UNIT, packets);
    } else {
        packet_fates_add(&tap->fates, FATE_QUEUE_FULL, packets);
        // Data that the reader never saw are a loss to it: it must ask for a keyframe.
        tap->lost_since_unit += 1;
    }
}

// A unit that elements made.
static void push_unit(CTapedeckTap *tap, GstBuffer *buffer, int64_t time, int64_t arrival, bool truncated) {
    uint32_t packets = pending_packets_take(&tap->pending, time, &tap->fates);
    push_whole(tap, buffer, time, arrival, packets, truncated);
}

// Takes the packet to the end.
static void depayload_packet(CTapedeckTap *tap, GstBuffer *buffer, int64_t now) {
    note_arrival(tap, buffer, now);
    GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
    if (!gst_rtp_buffer_map(buffer, GST_MAP_READ, &rtp)) return;
    Noted noted = note_packet(tap, buffer, &rtp, now);
    if (!noted.is_late) {
        note_skipped(tap, &rtp, noted.is_after_gap);
        Depayloaded made =
            depayloader_take(&tap->depayloader, gst_rtp_buffer_get_payload(&rtp), gst_rtp_buffer_get_payload_len(&rtp),
                             gst_rtp_buffer_get_marker(&rtp), noted.is_after_gap);
        // A unit that its sender did not end is a loss to the reader, though no packet is missing.
        if ((made.is_torn || made.is_broken) && tap->lost_since_unit == 0) tap->lost_since_unit = 1;
        if (made.has_begun) tap->unit_arrival = tap->last_arrival;
        if (made.unit != NULL) {
            push_whole(tap, made.unit, tap->unwrapped, tap->unit_arrival, made.packets, false);
            gst_buffer_unref(made.unit);
        }
    } else {
        packet_fates_add(&tap->fates, FATE_LATE, 1);
    }
    gst_rtp_buffer_unmap(&rtp);
}

static bool makes_units(const CTapedeckTap *tap) {
    return tap->depayloader.kind == CTAPEDECK_DEPAYLOAD_SOUND || tap->depayloader.kind == CTAPEDECK_DEPAYLOAD_VP8;
}

static gboolean tag_list_item(GstBuffer **buffer, guint index, gpointer tap) {
    (void)index;
    *buffer = tag_packet(tap, *buffer, CTapedeck_monotonic_nanoseconds());
    return TRUE;
}

static gboolean depayload_list_item(GstBuffer **buffer, guint index, gpointer tap) {
    (void)index;
    depayload_packet(tap, *buffer, CTapedeck_monotonic_nanoseconds());
    return TRUE;
}

// Streaming thread of the reorder buffer. Owns the buffer in `info` while it runs; never blocks.
static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    CTapedeckTap *tap = user;
    bool is_list = (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) != 0;
    if (makes_units(tap)) {
        if (is_list) {
            gst_buffer_list_foreach(GST_PAD_PROBE_INFO_BUFFER_LIST(info), depayload_list_item, tap);
        } else {
            depayload_packet(tap, GST_PAD_PROBE_INFO_BUFFER(info), CTapedeck_monotonic_nanoseconds());
        }
        return GST_PAD_PROBE_DROP;
    }
    if (is_list) {
        GstBufferList *list = gst_buffer_list_make_writable(GST_PAD_PROBE_INFO_BUFFER_LIST(info));
        gst_buffer_list_foreach(list, tag_list_item, tap);
        info->data = list;
    } else {
        info->data = tag_packet(tap, GST_PAD_PROBE_INFO_BUFFER(info), CTapedeck_monotonic_nanoseconds());
    }
    // Nothing is left of what was thrown away, which is as if it had been handled.
    return info->data != NULL ? GST_PAD_PROBE_OK : GST_PAD_PROBE_HANDLED;
}

void CTapedeck_tap_attach_rtp(CTapedeckTap *tap, GstPad *rtp_pad) {
    GstElement *element = gst_pad_get_parent_element(rtp_pad);
    tap->base_nanoseconds = element != NULL ? (int64_t)gst_element_get_base_time(element) : 0;
    gst_clear_object(&element);
    gst_pad_add_probe(rtp_pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_packet,
                      CTapedeck_tap_ref(tap), release_tap);
}

static int64_t tagged_time(const GstReferenceTimestampMeta *tag) { return (int64_t)tag->timestamp - RTP_TIME_BIAS; }

static void push_tagged(CTapedeckTap *tap, GstBuffer *buffer, const GstReferenceTimestampMeta *tag) {
    push_unit(tap, buffer, tagged_time(tag), (int64_t)tag->duration, false);
}

static void push_held(CTapedeckTap *tap) {
    if (tap->held == NULL) return;
    size_t size = tap->held->len;
    gathered_remove(tap->depayloader.gathered, size);
    // It may wait in a queue that counts bytes.
    uint8_t *bytes = g_realloc(g_byte_array_free(tap->held, FALSE), size);
    tap->held = NULL;
    GstBuffer *unit = gst_buffer_new_wrapped(bytes, size);
    push_unit(tap, unit, tap->held_time, tap->held_arrival, false);
    gst_buffer_unref(unit);
}

// Holds the beginning of the newest unit, or adds to it. If there is no room for it all of it is lost.
static void hold(CTapedeckTap *tap, GstBuffer *buffer) {
    size_t size = gst_buffer_get_size(buffer);
    size_t own = tap->held != NULL ? tap->held->len : 0;
    if (!gathered_add(tap->depayloader.gathered, own, size)) {
        forget_held(tap);
        packet_fates_add(&tap->fates, FATE_QUEUE_FULL,
                         pending_packets_take(&tap->pending, tap->held_time, &tap->fates));
        note_truncated(tap);
        tap->lost_since_unit += 1;
        return;
    }
    if (tap->held == NULL) tap->held = g_byte_array_new();
    g_byte_array_set_size(tap->held, (guint)(own + size));
    gst_buffer_extract(buffer, 0, tap->held->data + own, size);
}

// Whether a buffer without a tag continues the held one: it is of the same time.
static bool is_rest_of_held(const CTapedeckTap *tap) {
    return tap->held != NULL && tap->held_time == tap->unwrapped;
}

// A buffer without a tag does not begin with the first packet of its time.
static void take_untagged(CTapedeckTap *tap, GstBuffer *buffer) {
    // Some senders give several frames one time. What is held without a marker has not ended.
    bool may_begin = tap->has_parts && (tap->held == NULL || tap->marks_parts);
    bool begins = may_begin && h264_begins_picture(buffer);
    if (is_rest_of_held(tap) && !begins) {
        hold(tap, buffer);
        if (tap->last_marker && !tap->marks_parts) push_held(tap);
        return;
    }
    push_held(tap);
    bool is_of_unit = tap->has_unit && tap->unit_time == tap->unwrapped;
    if (tap->is_sound) {
        // Two packets of one time.
        push_unit(tap, buffer, tap->unwrapped, tap->last_arrival, false);
    } else if (!tap->last_marker) {
        // It ended with a packet of the next time: its own is not known any more.
        tap->lost_since_unit += 1;
    } else if (begins && is_of_unit) {
        tap->held_time = tap->unwrapped;
        tap->held_arrival = tap->last_arrival;
        hold(tap, buffer);
        if (!tap->marks_parts) push_held(tap);
    } else if (!is_of_unit) {
        // The depayloader threw away how it begins.
        push_unit(tap, buffer, tap->unwrapped, tap->last_arrival, true);
    } else {
        // The first part that shows it: from now on data are held until the next time begins. The rest of this frame is
        // lost, which asks for a keyframe.
        tap->marks_parts = tap->has_parts;
        tap->lost_since_unit += 1;
    }
}

// Streaming thread, the same as on_packet's: there is no queue between the two. Always GST_FLOW_OK: an error would
// stop every track of the connection.
//
// The depayloader of H.264 begins a new buffer wherever it sees parameter sets, which some senders repeat before each
// slice of a frame: buffers before the packet that ends the frame are held, and the rest of it added. It also ends one
// at each marker, which some senders set on each slice: then a frame ends where the next one begins. The very last
// frame of those senders is not written.
static GstFlowReturn on_sample(GstAppSink *sink, gpointer user) {
    CTapedeckTap *tap = user;
    GstSample *sample = gst_app_sink_pull_sample(sink);
    if (sample == NULL) return GST_FLOW_OK;
    if (tap->is_overfull) {
        // The rest of a frame that got too large.
        gst_sample_unref(sample);
        return GST_FLOW_OK;
    }
    GstCaps *caps = gst_sample_get_caps(sample);
    if (!tap->knows_format && caps != NULL) {
        const GstStructure *format = gst_caps_get_structure(caps, 0);
        tap->has_parts = gst_structure_has_name(format, "video/x-h264");
        tap->is_sound = g_str_has_prefix(gst_structure_get_name(format), "audio/");
        tap->knows_format = true;
    }
    // Without a marker the unit ended where the NAL unit begins that the depayloader has just taken.
    keep_undone(tap, tap->has_parts && !tap->last_marker ? tap->of_nal_unit : 0);
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstReferenceTimestampMeta *tag =
        buffer != NULL ? gst_buffer_get_reference_timestamp_meta(buffer, tap->tag) : NULL;
    if (tag != NULL) {
        push_held(tap);
        bool is_over = tagged_time(tag) != tap->unwrapped || (tap->last_marker && !tap->marks_parts);
        if (is_over || !tap->has_parts) {
            push_tagged(tap, buffer, tag);
        } else {
            tap->held_time = tagged_time(tag);
            tap->held_arrival = (int64_t)tag->duration;
            hold(tap, buffer);
        }
    } else if (buffer != NULL) {
        take_untagged(tap, buffer);
    }
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

void CTapedeck_tap_attach_sink(CTapedeckTap *tap, GstElement *appsink) {
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample};
    gst_app_sink_set_callbacks(GST_APP_SINK(appsink), &callbacks, CTapedeck_tap_ref(tap), release_tap);
}

void CTapedeck_tap_close(CTapedeckTap *tap) { atomic_store_explicit(&tap->closed, true, memory_order_relaxed); }

void CTapedeck_tap_depayload(CTapedeckTap *tap, CTapedeckDepayload kind) { tap->depayloader.kind = kind; }

void CTapedeck_tap_read_levels(CTapedeckTap *tap, uint8_t id) { tap->level_id = id; }

void CTapedeck_tap_read_orientation(CTapedeckTap *tap, uint8_t id) { tap->orientation_id = id; }

CTapedeckSoundLevel CTapedeck_tap_sound_level(CTapedeckTap *tap) {
    return sound_meter_read(&tap->meter, CTapedeck_monotonic_nanoseconds());
}

static uint64_t fate(CTapedeckTap *tap, PacketFate fate) {
    return atomic_load_explicit(&tap->fates.counts[fate], memory_order_relaxed);
}

CTapedeckTapCounters CTapedeck_tap_counters(CTapedeckTap *tap) {
    uint64_t evicted = 0;
    uint64_t dropped = CTapedeck_queue_dropped_of(tap->queue, tap->id, &evicted);
    uint64_t in_units = fate(tap, FATE_IN_UNIT);
    CTapedeckTapCounters counters = {
        .bytes = atomic_load_explicit(&tap->bytes, memory_order_relaxed),
        .lost = atomic_load_explicit(&tap->lost, memory_order_relaxed),
        .repaired = atomic_load_explicit(&tap->repaired, memory_order_relaxed),
        .units = atomic_load_explicit(&tap->units, memory_order_relaxed),
        .doubtful = atomic_load_explicit(&tap->doubtful, memory_order_relaxed),
        .skipped = atomic_load_explicit(&tap->skipped, memory_order_relaxed),
        .dropped = dropped,
        .empty = fate(tap, FATE_EMPTY),
        .late = fate(tap, FATE_LATE),
        .before_keyframe = fate(tap, FATE_BEFORE_KEYFRAME),
        .incomplete = fate(tap, FATE_INCOMPLETE),
        .undecodable = fate(tap, FATE_UNDECODABLE),
        .queue_full = fate(tap, FATE_QUEUE_FULL) + evicted,
        // One that is pushed in this moment may have been dropped already.
        .in_units = in_units > evicted ? in_units - evicted : 0,
        .last_packet_nanoseconds = atomic_load_explicit(&tap->last_packet, memory_order_relaxed),
        // Behind what became of them.
        .packets = atomic_load_explicit(&tap->packets, memory_order_relaxed),
    };
    uint64_t known = counters.empty + counters.late + counters.before_keyframe + counters.incomplete +
                     counters.undecodable + counters.queue_full + counters.in_units;
    counters.waiting = counters.packets > known ? counters.packets - known : 0;
    // Units that wait in a closed tap will never be whole.
    if (atomic_load_explicit(&tap->closed, memory_order_relaxed)) {
        counters.incomplete += counters.waiting;
        counters.waiting = 0;
    }
    return counters;
}
