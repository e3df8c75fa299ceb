// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckCongestion.h"

#include <gst/rtp/rtp.h>
#include <string.h>

#include "CTapedeckReceive.h"

enum {
    // Packets that can be on their way: 8 s at 4 Mbit/s. A power of two.
    HISTORY = 4096,
    NO_PAYLOAD_TYPE = 255,
    PICTURE_ESTIMATE = 15,
    TRANSPORT_FEEDBACK = 15,
    FEEDBACK_HEADER = 8,
    // Unit of transport-wide feedback, in microseconds.
    REFERENCE_UNIT = 64000,
    DELTA_UNIT = 250,
    // Further than this in one feedback, in units of the reference, is a clock that was set, or a long pause.
    LONGEST_STEP = 1000,
    // A power of two.
    REPEATS = 1024,
    // Repeated packets may take this part of the sent bytes, and this many bytes at once.
    REPEAT_DIVISOR = 4,
    REPEAT_BURST = 16000,
};

// Receivers ask every 100 ms until the packet is there; on a full way that is long after the first repetition left.
static const int64_t REPEAT_INTERVAL = (int64_t)150 * 1000 * 1000;

// The fastest packet is looked for in this one and in the one before it: clocks drift, and ways change.
static const int64_t WINDOW = (int64_t)30 * 1000 * 1000 * 1000;
// A longer time between two feedbacks is a clock that was set.
static const int64_t LONGEST_SPAN = (int64_t)10 * 1000 * 1000 * 1000;
// No receiver's clock gets this far, in units of the reference: eight years.
static const int64_t LATEST_REFERENCE = (int64_t)1 << 32;

typedef enum { FORGOTTEN, ON_ITS_WAY, LOST, ARRIVED } Fate;

typedef struct {
    int64_t sent;
    // Everything that was sent up to here, this packet included.
    uint64_t total;
    uint32_t size;
    uint16_t number;
    uint8_t fate;
} Packet;

// When a packet was repeated.
typedef struct {
    int64_t at;
    uint16_t sequence;
} Repeat;

struct CTapedeckCongestion {
    gatomicrefcount references;
    // Guards everything below. Held for a few packets at most; nothing is called while it is held.
    GMutex mutex;
    uint8_t payload_type;
    uint8_t retransmission;
    uint8_t extension_id;
    // SSRC of the video; 0 before its first packet.
    uint32_t ssrc;
    uint16_t next_number;
    // HISTORY and REPEATS of them; NULL while nothing is sent.
    Packet *packets;
    Repeat *repeats;
    // Bytes of repeated packets that may leave now.
    uint32_t repeat_budget;
    // Queueing delay on the path by the newest feedback.
    int64_t queueing;
    CTapedeckCongestionNews news;
    // Bytes that were sent, and those up to the newest packet that arrived.
    uint64_t total;
    uint64_t reported;
    // The receiver's clock at its last feedback in units of REFERENCE_UNIT, and whether there was one.
    int64_t reference;
    bool has_reference;
    // When the newest packet arrived, in nanoseconds of the receiver's clock; 0 before the first.
    int64_t newest_arrival;
    // The fastest packets of this window and of the one before it.
    int64_t fastest;
    int64_t previous_fastest;
    int64_t window_start;
};

CTapedeckCongestion *CTapedeck_congestion_new(void) {
    CTapedeckCongestion *congestion = g_new0(CTapedeckCongestion, 1);
    g_atomic_ref_count_init(&congestion->references);
    g_mutex_init(&congestion->mutex);
    congestion->payload_type = congestion->retransmission = NO_PAYLOAD_TYPE;
    return congestion;
}

void CTapedeck_congestion_unref(CTapedeckCongestion *congestion) {
    if (!g_atomic_ref_count_dec(&congestion->references)) return;
    g_mutex_clear(&congestion->mutex);
    g_free(congestion->packets);
    g_free(congestion->repeats);
    g_free(congestion);
}

static void release(gpointer congestion, GClosure *closure) {
    (void)closure;
    CTapedeck_congestion_unref(congestion);
}

void CTapedeck_congestion_number(CTapedeckCongestion *congestion, uint8_t payload_type, int retransmission,
                                 uint8_t extension_id) {
    g_mutex_lock(&congestion->mutex);
    congestion->payload_type = payload_type;
    congestion->retransmission = retransmission < 0 ? NO_PAYLOAD_TYPE : (uint8_t)retransmission;
    congestion->extension_id = extension_id;
    if (congestion->packets == NULL) {
        congestion->packets = g_new0(Packet, HISTORY);
        congestion->repeats = g_new0(Repeat, REPEATS);
    }
    g_mutex_unlock(&congestion->mutex);
}

CTapedeckCongestionNews CTapedeck_congestion_take(CTapedeckCongestion *congestion) {
    g_mutex_lock(&congestion->mutex);
    CTapedeckCongestionNews news = congestion->news;
    news.bytes_on_their_way = congestion->total - congestion->reported;
    congestion->news = (CTapedeckCongestionNews){0};
    g_mutex_unlock(&congestion->mutex);
    return news;
}

// Mutex held.
static uint16_t note_sent(CTapedeckCongestion *congestion, uint32_t size, int64_t now) {
    uint16_t number = congestion->next_number++;
    congestion->total += size;
    congestion->packets[number % HISTORY] =
        (Packet){.sent = now, .total = congestion->total, .size = size, .number = number, .fate = ON_ITS_WAY};
    congestion->news.sent_bytes += size;
    return number;
}

uint16_t CTapedeck_congestion_note_sent(CTapedeckCongestion *congestion, uint32_t ssrc, uint32_t size, int64_t now) {
    g_mutex_lock(&congestion->mutex);
    congestion->ssrc = ssrc;
    uint16_t number = note_sent(congestion, size, now);
    g_mutex_unlock(&congestion->mutex);
    return number;
}

// Whether a packet may be repeated now: webrtcbin repeats whatever it is asked for, as often as it is asked, which on a
// full way is most of what it sends. Mutex held.
static bool may_repeat(CTapedeckCongestion *congestion, uint16_t sequence, uint32_t size, int64_t now) {
    Repeat *repeat = &congestion->repeats[sequence % REPEATS];
    bool is_early = repeat->at != 0 && repeat->sequence == sequence &&
                    now - repeat->at < REPEAT_INTERVAL + congestion->queueing;
    if (is_early || congestion->repeat_budget < size) return false;
    congestion->repeat_budget -= size;
    *repeat = (Repeat){.at = now, .sequence = sequence};
    return true;
}

typedef enum { LEAVE, NUMBER, HOLD_BACK } Treatment;

// The treatment of a packet, and the number that it gets.
static Treatment treatment(CTapedeckCongestion *congestion, GstBuffer *buffer, uint8_t *extension_id,
                           uint16_t *number) {
    GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
    if (!gst_rtp_buffer_map(buffer, GST_MAP_READ, &rtp)) return LEAVE;
    uint8_t payload_type = gst_rtp_buffer_get_payload_type(&rtp);
    uint32_t ssrc = gst_rtp_buffer_get_ssrc(&rtp);
    // A repeated packet begins with the number of the one that it repeats (RFC 4588 section 4).
    const uint8_t *payload = gst_rtp_buffer_get_payload(&rtp);
    uint16_t repeated = payload != NULL && gst_rtp_buffer_get_payload_len(&rtp) >= 2 ? GST_READ_UINT16_BE(payload) : 0;
    gst_rtp_buffer_unmap(&rtp);
    uint32_t size = (uint32_t)gst_buffer_get_size(buffer);
    int64_t now = CTapedeck_monotonic_nanoseconds();
    Treatment result = LEAVE;
    g_mutex_lock(&congestion->mutex);
    bool is_repeat = payload_type == congestion->retransmission;
    if (is_repeat && !may_repeat(congestion, repeated, size, now)) {
        result = HOLD_BACK;
    } else if (is_repeat || payload_type == congestion->payload_type) {
        if (!is_repeat) {
            congestion->ssrc = ssrc;
            congestion->repeat_budget = MIN(congestion->repeat_budget + size / REPEAT_DIVISOR, REPEAT_BURST);
        }
        *number = note_sent(congestion, size, now);
        *extension_id = congestion->extension_id;
        if (*extension_id != 0) result = NUMBER;
    }
    g_mutex_unlock(&congestion->mutex);
    return result;
}

// The packet as it leaves; NULL if it does not.
static GstBuffer *numbered(CTapedeckCongestion *congestion, GstBuffer *buffer) {
    uint8_t extension_id = 0;
    uint16_t number = 0;
    Treatment what = treatment(congestion, buffer, &extension_id, &number);
    if (what == HOLD_BACK) gst_clear_buffer(&buffer);
    if (what != NUMBER) return buffer;
    // The history of retransmissions holds the same packet: it stays without a number.
    buffer = gst_buffer_make_writable(buffer);
    GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
    if (!gst_rtp_buffer_map(buffer, GST_MAP_READWRITE, &rtp)) return buffer;
    uint8_t bytes[2];
    GST_WRITE_UINT16_BE(bytes, number);
    gst_rtp_buffer_add_extension_onebyte_header(&rtp, extension_id, bytes, sizeof bytes);
    gst_rtp_buffer_unmap(&rtp);
    return buffer;
}

static gboolean number_item(GstBuffer **buffer, guint index, gpointer congestion) {
    (void)index;
    *buffer = numbered(congestion, *buffer);
    return TRUE;
}

// Streaming threads of the payloaders. Owns the buffer in `info` while it runs; never blocks.
static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer congestion) {
    (void)pad;
    if (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) {
        GstBufferList *list = gst_buffer_list_make_writable(GST_PAD_PROBE_INFO_BUFFER_LIST(info));
        gst_buffer_list_foreach(list, number_item, congestion);
        info->data = list;
    } else {
        info->data = numbered(congestion, GST_PAD_PROBE_INFO_BUFFER(info));
        if (info->data == NULL) return GST_PAD_PROBE_HANDLED;
    }
    return GST_PAD_PROBE_OK;
}

// Goes through the states of the packets that a feedback names.
typedef struct {
    const uint8_t *data;
    size_t size;
    size_t offset;
    uint16_t chunk;
    unsigned left;
} States;

// 0: it did not arrive, 1 and 2: it did, with a difference of this many bytes; negative: the data end.
static int next_state(States *states) {
    if (states->left == 0) {
        if (states->size - states->offset < 2) return -1;
        states->chunk = GST_READ_UINT16_BE(states->data + states->offset);
        states->offset += 2;
        bool is_run = !(states->chunk & 0x8000);
        states->left = is_run ? states->chunk & 0x1FFF : states->chunk & 0x4000 ? 7 : 14;
        if (states->left == 0) return -1;
    }
    states->left -= 1;
    int state;
    if (!(states->chunk & 0x8000)) {
        state = states->chunk >> 13 & 3;
    } else if (states->chunk & 0x4000) {
        state = states->chunk >> (2 * states->left) & 3;
    } else {
        state = states->chunk >> states->left & 1;
    }
    return state == 3 ? -1 : state;
}

// The packet of that number, if it is known and its fate is open. Mutex held.
static Packet *find(CTapedeckCongestion *congestion, uint16_t number) {
    Packet *packet = &congestion->packets[number % HISTORY];
    bool is_open = packet->fate == ON_ITS_WAY || packet->fate == LOST;
    return is_open && packet->number == number ? packet : NULL;
}

// Mutex held.
static void note_arrival(CTapedeckCongestion *congestion, Packet *packet) {
    // It came late, not never; the loss may have been reported already.
    if (packet->fate == LOST && congestion->news.lost_packets > 0) congestion->news.lost_packets -= 1;
    packet->fate = ARRIVED;
    congestion->news.arrived_packets += 1;
    congestion->news.arrived_bytes += packet->size;
    congestion->reported = MAX(congestion->reported, packet->total);
}

// The newest packet of a feedback arrived then by the receiver's clock, which no packet came to before. Mutex held.
static void note_span(CTapedeckCongestion *congestion, int64_t arrival) {
    int64_t span = arrival - congestion->newest_arrival;
    bool is_step = congestion->newest_arrival == 0 || span > LONGEST_SPAN || span < -LONGEST_SPAN;
    if (!is_step && span > 0) congestion->news.arrival_span += span;
    if (is_step || span > 0) congestion->newest_arrival = arrival;
}

// How long the fastest packet of a feedback took, on two clocks of which nothing is known. Mutex held.
static void note_delay(CTapedeckCongestion *congestion, int64_t delay, int64_t now) {
    if (congestion->window_start == 0) {
        congestion->window_start = now;
        congestion->fastest = congestion->previous_fastest = delay;
    } else if (now - congestion->window_start >= WINDOW) {
        congestion->window_start = now;
        congestion->previous_fastest = congestion->fastest;
        congestion->fastest = delay;
    }
    congestion->fastest = MIN(congestion->fastest, delay);
    int64_t queueing = delay - MIN(congestion->fastest, congestion->previous_fastest);
    CTapedeckCongestionNews *news = &congestion->news;
    congestion->queueing = queueing;
    news->queueing = news->has_arrivals ? MIN(news->queueing, queueing) : queueing;
    news->has_arrivals = true;
}

// The receiver's clock, of which 24 bits came. Mutex held.
static int64_t unwrapped(CTapedeckCongestion *congestion, uint32_t reference) {
    int32_t step = (int32_t)((reference - (uint32_t)congestion->reference) << 8) >> 8;
    int64_t next = congestion->reference + step;
    bool is_anew = !congestion->has_reference || ABS(step) > LONGEST_STEP || ABS(next) > LATEST_REFERENCE;
    congestion->reference = is_anew ? reference : next;
    congestion->has_reference = true;
    return congestion->reference;
}

// Mutex held.
static void note_feedback(CTapedeckCongestion *congestion, const uint8_t *data, size_t size, int64_t now) {
    if (size < FEEDBACK_HEADER) return;
    uint16_t base = GST_READ_UINT16_BE(data);
    uint16_t count = GST_READ_UINT16_BE(data + 2);
    // Feedback on more packets than are known teaches nothing, and a few bytes can describe 65535.
    if (count > HISTORY) return;
    States states = {.data = data, .size = size, .offset = FEEDBACK_HEADER};
    for (unsigned index = 0; index < count; index++) {
        if (next_state(&states) < 0) return;
    }
    size_t offset = states.offset;
    int64_t arrival = unwrapped(congestion, GST_READ_UINT24_BE(data + 4)) * REFERENCE_UNIT;
    int64_t least = 0, newest = 0;
    bool has_delay = false;
    states = (States){.data = data, .size = size, .offset = FEEDBACK_HEADER};
    for (unsigned index = 0; index < count; index++) {
        int state = next_state(&states);
        Packet *packet = find(congestion, (uint16_t)(base + index));
        if (state == 0) {
            if (packet == NULL || packet->fate == LOST) continue;
            packet->fate = LOST;
            congestion->news.lost_packets += 1;
            continue;
        }
        if (size - offset < (size_t)state) break;
        int delta = state == 1 ? data[offset] : (int16_t)GST_READ_UINT16_BE(data + offset);
        offset += (size_t)state;
        arrival += (int64_t)delta * DELTA_UNIT;
        if (packet == NULL) continue;
        int64_t delay = arrival * 1000 - packet->sent;
        least = has_delay ? MIN(least, delay) : delay;
        newest = has_delay ? MAX(newest, arrival) : arrival;
        has_delay = true;
        note_arrival(congestion, packet);
    }
    if (!has_delay) return;
    note_delay(congestion, least, now);
    note_span(congestion, newest * 1000);
}

// Mutex held.
static void note_block(CTapedeckCongestion *congestion, GstRTCPPacket *packet, guint index) {
    guint32 ssrc, highest, jitter, last, delay;
    guint8 fraction;
    gint32 lost;
    gst_rtcp_packet_get_rb(packet, index, &ssrc, &fraction, &lost, &highest, &jitter, &last, &delay);
    if (ssrc != congestion->ssrc || ssrc == 0) return;
    congestion->news.has_report = true;
    congestion->news.fraction_lost = MAX(congestion->news.fraction_lost, fraction);
}

// How many report blocks a packet has room for: what it says it has may be more.
static guint block_count(GstRTCPPacket *packet, GstRTCPType type) {
    guint head = type == GST_RTCP_TYPE_SR ? 6 : 1;
    guint words = gst_rtcp_packet_get_length(packet);
    guint room = words < head ? 0 : (words - head) / 6;
    return MIN(room, gst_rtcp_packet_get_rb_count(packet));
}

// Mutex held.
static void note_estimate(CTapedeckCongestion *congestion, const uint8_t *data, size_t size) {
    if (size < 8 || memcmp(data, "REMB", 4) != 0) return;
    unsigned exponent = data[5] >> 2;
    uint64_t mantissa = (uint64_t)(data[5] & 3) << 16 | GST_READ_UINT16_BE(data + 6);
    // Beyond this it is no rate of this world.
    if (exponent > 30) return;
    congestion->news.estimate = mantissa << exponent;
}

// Mutex held.
static void read_packet(CTapedeckCongestion *congestion, GstRTCPPacket *packet, int64_t now) {
    GstRTCPType type = gst_rtcp_packet_get_type(packet);
    switch (type) {
    case GST_RTCP_TYPE_SR:
    case GST_RTCP_TYPE_RR:
        for (guint index = 0; index < block_count(packet, type); index++) note_block(congestion, packet, index);
        break;
    case GST_RTCP_TYPE_RTPFB:
    case GST_RTCP_TYPE_PSFB: {
        const uint8_t *data = gst_rtcp_packet_fb_get_fci(packet);
        size_t size = 4 * (size_t)gst_rtcp_packet_fb_get_fci_length(packet);
        int kind = (int)gst_rtcp_packet_fb_get_type(packet);
        if (data == NULL) break;
        if (type == GST_RTCP_TYPE_RTPFB && kind == TRANSPORT_FEEDBACK) note_feedback(congestion, data, size, now);
        if (type == GST_RTCP_TYPE_PSFB && kind == PICTURE_ESTIMATE) note_estimate(congestion, data, size);
        break;
    }
    default: break;
    }
}

void CTapedeck_congestion_note_rtcp(CTapedeckCongestion *congestion, GstBuffer *buffer, int64_t now) {
    GstRTCPBuffer rtcp = GST_RTCP_BUFFER_INIT;
    GstRTCPPacket packet;
    g_mutex_lock(&congestion->mutex);
    bool is_sending = congestion->packets != NULL;
    g_mutex_unlock(&congestion->mutex);
    if (!is_sending || !gst_rtcp_buffer_validate_reduced(buffer)) return;
    if (!gst_rtcp_buffer_map(buffer, GST_MAP_READ, &rtcp)) return;
    g_mutex_lock(&congestion->mutex);
    gboolean more = gst_rtcp_buffer_get_first_packet(&rtcp, &packet);
    while (more) {
        read_packet(congestion, &packet, now);
        more = gst_rtcp_packet_move_to_next(&packet);
    }
    g_mutex_unlock(&congestion->mutex);
    gst_rtcp_buffer_unmap(&rtcp);
}

// RTCP thread of the session. The buffer stays the session's; never blocks.
static void on_rtcp(gpointer session, GstBuffer *buffer, gpointer congestion) {
    (void)session;
    CTapedeck_congestion_note_rtcp(congestion, buffer, CTapedeck_monotonic_nanoseconds());
}

static void unref_congestion(gpointer congestion) { CTapedeck_congestion_unref(congestion); }

// The thread that negotiates: before anything flows.
static void on_pad(GstElement *rtp_session, GstPad *pad, gpointer congestion) {
    (void)rtp_session;
    if (strcmp(GST_PAD_NAME(pad), "send_rtp_src") != 0) return;
    g_atomic_ref_count_inc(&((CTapedeckCongestion *)congestion)->references);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_packet, congestion,
                      unref_congestion);
}

void CTapedeck_congestion_watch(CTapedeckCongestion *congestion, GstElement *rtp_session) {
    g_atomic_ref_count_inc(&congestion->references);
    g_signal_connect_data(rtp_session, "pad-added", G_CALLBACK(on_pad), congestion, release, 0);
    GObject *session = NULL;
    g_object_get(rtp_session, "internal-session", &session, NULL);
    if (session == NULL) return;
    g_atomic_ref_count_inc(&congestion->references);
    g_signal_connect_data(session, "on-receiving-rtcp", G_CALLBACK(on_rtcp), congestion, release, 0);
    g_object_unref(session);
}
