// SPDX-License-Identifier: Apache-2.0
//
// The C module's work on each packet of a peer, fed by libFuzzer: the first byte of an input sets the target up, the
// rest are its packets. Built with the sanitizers of addresses and of undefined behaviour.

#include <gst/gst.h>
#include <gst/rtp/rtp.h>
#include <srtp2/srtp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CTapedeckCongestion.h"
#include "CTapedeckReorder.h"
#include "CTapedeckSRTP.h"
#include "units/depayloader.h"
#include "units/h264_passage.h"
#include "output/rtcp.h"
#include "receive/rtcp_filter.h"
#include "receive/rtp_header.h"

// A rule that must hold; libFuzzer keeps the input.
#define require(condition)                                                  \
    do {                                                                    \
        if (condition) break;                                               \
        fprintf(stderr, "Fatal error: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
        abort();                                                            \
    } while (0)

// The bytes of an input that are left.
typedef struct {
    const uint8_t *bytes;
    size_t size;
} Input;

static uint8_t take_byte(Input *input) {
    if (input->size == 0) return 0;
    input->size -= 1;
    return *input->bytes++;
}

static uint16_t take_16(Input *input) {
    uint16_t high = take_byte(input);
    return (uint16_t)(high << 8 | take_byte(input));
}

// Bytes in separate memory, which makes a read past their end an error. The caller's.
static uint8_t *copy_of(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, bytes, size);
    return copy;
}

// The next packet: a byte with its size, and that many bytes, as far as there are any. The caller's.
static uint8_t *take_packet(Input *input, size_t *size) {
    size_t wanted = take_byte(input);
    *size = MIN(wanted, input->size);
    uint8_t *packet = copy_of(input->bytes, *size);
    input->bytes += *size;
    input->size -= *size;
    return packet;
}

// Payloads become units: whole ones, no larger than what came, and nothing stays counted.
static void depayload(CTapedeckDepayload kind, Input input) {
    Gathered *gathered = gathered_new();
    Depayloader depayloader = {.kind = kind, .gathered = gathered};
    size_t came = 0, went = 0;
    while (input.size > 0) {
        uint8_t flags = take_byte(&input);
        size_t size;
        uint8_t *payload = take_packet(&input, &size);
        Depayloaded result = depayloader_take(&depayloader, payload, size, (flags & 1) != 0, (flags & 2) != 0);
        free(payload);
        came += size;
        if (result.unit == NULL) continue;
        require(!result.is_broken);
        require(gst_buffer_get_size(result.unit) > 0);
        went += gst_buffer_get_size(result.unit);
        require(went <= came);
        gst_buffer_unref(result.unit);
    }
    depayloader_clear(&depayloader);
    require(gathered_add(gathered, 0, GATHERED_MAXIMUM));
    gathered_remove(gathered, GATHERED_MAXIMUM);
    gathered_unref(gathered);
}

static void vp8(Input input) { depayload(CTAPEDECK_DEPAYLOAD_VP8, input); }

static void sound(Input input) { depayload(CTAPEDECK_DEPAYLOAD_SOUND, input); }

// A fragment that passes has something behind its header, and nothing empty comes within a NAL unit.
static void h264(Input input) {
    H264Passage passage = {0};
    bool is_within = false;
    while (input.size > 0) {
        size_t size;
        uint8_t *payload = take_packet(&input, &size);
        bool passes = h264_passage_takes(&passage, payload, size);
        bool is_fragment = size > 0 && (payload[0] & 0x1F) == 28;
        if (passes) {
            require(size > 0 || !is_within);
            require(!is_fragment || size > 2);
        }
        if (size > 0 || !passes) is_within = passes && is_fragment && (payload[1] & 0x40) == 0;
        free(payload);
    }
}

// A header ends where the packet does, at the latest.
static void header(Input input) {
    while (input.size > 0) {
        size_t size;
        uint8_t *packet = take_packet(&input, &size);
        size_t found = rtp_header_size(packet, size);
        require(found == 0 || (found >= RTP_FIXED_HEADER_SIZE && found <= size));
        free(packet);
    }
}

// A datagram is read to an end, packet after packet.
static void rtcp(Input input) {
    uint32_t ssrc = (uint32_t)take_16(&input) << 16 | take_16(&input);
    uint8_t *data = copy_of(input.bytes, input.size);
    RTCPReader reader = {.data = data, .size = input.size};
    RTCPNews news;
    size_t before = 0;
    while (rtcp_read(&reader, ssrc, &news)) {
        require(reader.offset >= before + 8 && reader.offset <= reader.size);
        before = reader.offset;
    }
    free(data);
}

// Sources with an even number may be named.
static bool is_even(void *user, uint32_t ssrc) {
    (void)user;
    return ssrc % 2 == 0;
}

// A packet describes no unknown source, and no item is private.
static void check_descriptions(GstRTCPPacket *packet) {
    for (gboolean item = gst_rtcp_packet_sdes_first_item(packet); item; item = gst_rtcp_packet_sdes_next_item(packet)) {
        require(is_even(NULL, gst_rtcp_packet_sdes_get_ssrc(packet)));
        for (gboolean entry = gst_rtcp_packet_sdes_first_entry(packet); entry;
             entry = gst_rtcp_packet_sdes_next_entry(packet)) {
            GstRTCPSDESType kind;
            guint8 length;
            guint8 *text;
            require(!gst_rtcp_packet_sdes_get_entry(packet, &kind, &length, &text) || kind != GST_RTCP_SDES_PRIV);
        }
    }
}

static void check_packet(GstRTCPPacket *packet) {
    guint32 ssrc = 0;
    switch (gst_rtcp_packet_get_type(packet)) {
        case GST_RTCP_TYPE_SR: gst_rtcp_packet_sr_get_sender_info(packet, &ssrc, NULL, NULL, NULL, NULL); break;
        case GST_RTCP_TYPE_RR: ssrc = gst_rtcp_packet_rr_get_ssrc(packet); break;
        case GST_RTCP_TYPE_SDES: check_descriptions(packet); break;
        default: break;
    }
    require(is_even(NULL, ssrc));
}

// The remaining packets report and describe no unknown source, as GStreamer reads them.
static void rtcp_filter(Input input) {
    uint8_t *bytes = copy_of(input.bytes, input.size);
    size_t size = rtcp_filter_keep(&(RTCPFilter){.may_report = is_even, .is_known = is_even}, bytes, input.size);
    require(size <= input.size && size % 4 == 0);
    GstBuffer *left = gst_buffer_new_memdup(bytes, size);
    free(bytes);
    GstRTCPBuffer rtcp = GST_RTCP_BUFFER_INIT;
    if (size > 0 && gst_rtcp_buffer_validate_reduced(left) && gst_rtcp_buffer_map(left, GST_MAP_READ, &rtcp)) {
        GstRTCPPacket packet;
        for (gboolean more = gst_rtcp_buffer_get_first_packet(&rtcp, &packet); more;
             more = gst_rtcp_packet_move_to_next(&packet)) {
            check_packet(&packet);
        }
        gst_rtcp_buffer_unmap(&rtcp);
    }
    gst_buffer_unref(left);
}

// No more arrives or is lost than was sent.
static void feedback(Input input) {
    enum { PACKETS = 16, SIZE = 1200 };
    CTapedeckCongestion *congestion = CTapedeck_congestion_new();
    CTapedeck_congestion_number(congestion, 96, 97, 3);
    int64_t now = 1;
    uint64_t sent = 0, accounted = 0;
    while (input.size > 0) {
        for (int count = 0; count < PACKETS; count++, now += 1000000) {
            CTapedeck_congestion_note_sent(congestion, 0x11223344, SIZE, now);
        }
        sent += PACKETS;
        size_t size;
        uint8_t *datagram = take_packet(&input, &size);
        GstBuffer *buffer = gst_buffer_new_memdup(datagram, size);
        free(datagram);
        CTapedeck_congestion_note_rtcp(congestion, buffer, now);
        gst_buffer_unref(buffer);
        CTapedeckCongestionNews news = CTapedeck_congestion_take(congestion);
        require(news.arrived_bytes == news.arrived_packets * SIZE && news.bytes_on_their_way <= sent * SIZE);
        // A lost packet may arrive after all, and counts once more then.
        accounted += news.arrived_packets;
        require(accounted <= sent && news.lost_packets <= sent);
    }
    CTapedeck_congestion_unref(congestion);
}

typedef struct {
    CTapedeckReorderWindow *window;
    int64_t now;
    bool has_begun;
    // The next number, unless the sender restarted its numbers.
    uint16_t next;
    uint64_t kept;
    uint64_t taken;
    uint64_t lost;
} Reordering;

// The numbers taken out rise by one, also over losses; `counts_anew`: except the first.
static void drain(Reordering *reordering, bool counts_anew) {
    for (;;) {
        CTapedeckNext step = CTapedeck_reorder_window_take(reordering->window, reordering->now);
        if (step.kind == CTAPEDECK_NEXT_NOTHING) return;
        require(!reordering->has_begun || counts_anew || step.sequence == reordering->next);
        require((step.kind == CTAPEDECK_NEXT_PACKET) == (step.packet != NULL));
        counts_anew = false;
        reordering->has_begun = true;
        reordering->next = (uint16_t)(step.sequence + 1);
        reordering->taken += step.kind == CTAPEDECK_NEXT_PACKET;
        reordering->lost += step.kind == CTAPEDECK_NEXT_LOSS;
        gst_clear_buffer(&step.packet);
    }
}

static CTapedeckPacketFate put(Reordering *reordering, uint16_t sequence) {
    GstBuffer *packet = gst_buffer_new();
    CTapedeckPacketFate fate = CTapedeck_reorder_window_put(reordering->window, sequence, packet, reordering->now);
    if (fate == CTAPEDECK_PACKET_KEPT || fate == CTAPEDECK_PACKET_ASIDE) {
        reordering->kept += 1;
    } else {
        gst_buffer_unref(packet);
    }
    return fate;
}

// No packet comes out twice or out of order, none is lost without being counted, and nothing is overdue.
static void reorder(Input input) {
    Reordering reordering = {.window = CTapedeck_reorder_window_new(take_byte(&input) * (int64_t)2000000)};
    CTapedeckReorderWindow *window = reordering.window;
    bool is_aside = false;
    uint16_t sequence = 0;
    while (input.size > 0) {
        uint8_t what = take_byte(&input);
        reordering.now += (what >> 2) * (int64_t)1000000;
        // Two of four come near to what is next, one anywhere, one right behind the one before it.
        switch (what & 3) {
        case 0:
        case 1: sequence = (uint16_t)(reordering.next + (int8_t)take_byte(&input)); break;
        case 2: sequence = take_16(&input); break;
        default: sequence += 1; break;
        }
        CTapedeckPacketFate fate = put(&reordering, sequence);
        for (int again = 0; fate == CTAPEDECK_PACKET_NO_ROOM; again++) {
            require(again < 4096);
            drain(&reordering, false);
            fate = put(&reordering, sequence);
        }
        drain(&reordering, is_aside && fate == CTAPEDECK_PACKET_KEPT);
        is_aside = fate == CTAPEDECK_PACKET_ASIDE;
        require(reordering.taken <= reordering.kept);
        CTapedeckRequest request;
        // Each packet once, at one time.
        for (int count = 0; CTapedeck_reorder_window_request(window, reordering.now, &request); count++) {
            require(count < 512 && request.missing_nanoseconds >= 0);
        }
        require(CTapedeck_reorder_window_deadline(window, true) > reordering.now);
    }
    require(CTapedeck_reorder_window_counters(window).lost == reordering.lost);
    CTapedeck_reorder_window_free(window);
}

static const uint8_t key[CTAPEDECK_SRTP_KEY_SIZE + 1] = "thirty bytes: a key and a salt";

static srtp_t sender(void) {
    srtp_policy_t policy = {.ssrc = {.type = ssrc_any_outbound}, .key = (uint8_t *)key, .window_size = 1024,
                            .allow_repeat_tx = 1};
    srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtp);
    srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtcp);
    srtp_t session = NULL;
    require(srtp_create(&session, &policy) == srtp_err_status_ok);
    return session;
}

// A packet that opens is, to the byte, what libsrtp2 encrypted, and opens once; of any other one nothing changes.
static void srtp(Input input) {
    CTapedeckSRTPReceiver *receiver = CTapedeck_srtp_receiver_new(key, 10, 4);
    srtp_t session = sender();
    require(receiver != NULL);
    while (input.size > 0) {
        uint8_t flags = take_byte(&input);
        size_t size;
        uint8_t *plain = take_packet(&input, &size);
        uint8_t packet[256 + SRTP_MAX_TRAILER_LEN];
        memcpy(packet, plain, size);
        int length = (int)size;
        bool is_sent = (flags & 1) == 0 && rtp_header_size(plain, size) > 0 &&
                       srtp_protect(session, packet, &length) == srtp_err_status_ok;
        // One bit of it falls over.
        bool is_changed = is_sent && (flags & 2) != 0;
        if (is_changed) packet[(flags >> 2) % length] ^= 1;
        uint8_t *exact = copy_of(packet, (size_t)length);
        size_t opened = CTapedeck_srtp_receiver_open(receiver, exact, (size_t)length);
        if (opened == 0) {
            require(memcmp(exact, packet, (size_t)length) == 0);
        } else {
            require(is_sent && !is_changed);
            require(opened == size && memcmp(exact, plain, size) == 0);
            memcpy(exact, packet, (size_t)length);
            require(CTapedeck_srtp_receiver_open(receiver, exact, (size_t)length) == 0);
        }
        free(exact);
        free(plain);
    }
    srtp_dealloc(session);
    CTapedeck_srtp_receiver_free(receiver);
}

static const struct {
    const char *name;
    void (*feed)(Input);
} targets[] = {
    {"rtp-header", header},      {"rtp-vp8", vp8},           {"rtp-sound", sound},
    {"rtp-h264", h264},          {"rtcp", rtcp},             {"rtcp-filter", rtcp_filter},
    {"rtcp-feedback", feedback}, {"reorder-window", reorder}, {"srtp", srtp},
};

static void (*chosen)(Input);

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    const char *name = getenv("FUZZ_TARGET");
    bool lists = name != NULL && strcmp(name, "list") == 0;
    for (size_t at = 0; at < sizeof targets / sizeof targets[0]; at++) {
        if (lists) puts(targets[at].name);
        if (name != NULL && strcmp(name, targets[at].name) == 0) chosen = targets[at].feed;
    }
    if (lists) exit(0);
    if (chosen == NULL) {
        fprintf(stderr, "FUZZ_TARGET names no target; \"list\" shows them\n");
        exit(1);
    }
    gst_init(NULL, NULL);
    require(srtp_init() == srtp_err_status_ok);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    chosen((Input){.bytes = bytes, .size = size});
    return 0;
}
