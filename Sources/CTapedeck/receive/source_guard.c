// SPDX-License-Identifier: Apache-2.0
//
// How many sources (SSRC) one connection may have, and how their packets are decrypted. srtpdec, rtpsession and rtpssrcdemux keep
// something for each source that they ever saw, srtpdec even before it knows whether a packet is genuine.
//
//   dtlssrtpdemux ──probe──► srtpdec ──probe──► rtpsession
//     known: one look-up              contributing sources and what describes others: taken off
//     new: authentic and room,        reports of others: room, or dropped
//          or dropped
//
// srtpdec has RTCP, and media until it has announced the stream to rtpsession, which it does with the first packet of DTLS; then
// media are decrypted by the probe and go around it (srtp_receiver.c). Forged packets take no source's place.

#include <gst/rtp/rtp.h>
#include <string.h>

#include "receive_path.h"
#include "rtcp_filter.h"
#include "rtp_header.h"

enum {
    // Packet types that srtpdec treats as RTCP: 192 to 208 without the bit that RTP has its marker in (RFC 5761 section
    // 4).
    FIRST_CONTROL_TYPE = 64,
    LAST_CONTROL_TYPE = 80,
    // AES-128 and its salt (RFC 3711 section 8.2).
    KEY_SIZE = SRTP_AES_ICM_128_KEY_LEN_WSALT,
    SHORT_TAG_SIZE = 4,
    // Before the key is there: more than a camera sends until a lost end of a handshake comes again, after a second (RFC 6347
    // section 4.2.4.1).
    MAXIMUM_EARLY_PACKETS = 1024,
    MAXIMUM_EARLY_BYTES = 1 << 20,
};

G_STATIC_ASSERT((int)KEY_SIZE == (int)CTAPEDECK_SRTP_KEY_SIZE);

// Sum over all connections of the process.
static atomic_uint_fast64_t all_forged;

// NULL if it was not let in.
static PathSource *known_of(ReceivePath *path, uint32_t ssrc) {
    PathSource *source = receive_path_source(path, ssrc, false);
    return source != NULL && source->is_known ? source : NULL;
}

static bool has_room(ReceivePath *path) {
    return atomic_load_explicit(&path->known_sources, memory_order_relaxed) < path->settings.maximum_sources;
}

static PathSource *let_in(ReceivePath *path, uint32_t ssrc) {
    PathSource *source = receive_path_source(path, ssrc, true);
    source->is_known = true;
    atomic_fetch_add_explicit(&path->known_sources, 1, memory_order_relaxed);
    return source;
}

// A source for which an authentic packet reports.
static bool may_be_named(ReceivePath *path, uint32_t ssrc) {
    if (known_of(path, ssrc) != NULL) return true;
    if (!has_room(path)) return false;
    let_in(path, ssrc);
    return true;
}

static void note_refused(ReceivePath *path) {
    if (atomic_fetch_add_explicit(&path->refused, 1, memory_order_relaxed) == 0) {
        receive_path_report(path, CTAPEDECK_PATH_SOURCE_REFUSED);
    }
}

// Among packets that were not opened, separates those whose tag is wrong from those that came twice or too late.
static void note_unopened(ReceivePath *path) {
    uint64_t forged = CTapedeck_srtp_receiver_forged(path->receiver);
    uint64_t before = atomic_exchange_explicit(&path->forged, forged, memory_order_relaxed);
    if (forged == before) return;
    counter_add(&all_forged, forged - before);
    if (before == 0) receive_path_report(path, CTAPEDECK_PATH_KEY_REFUSED);
}

// Whether another packet of an authentic source may have the payload type; counts it. Called once for each.
static bool may_carry(ReceivePath *path, PathSource *source, uint8_t payload_type) {
    unsigned count = atomic_load_explicit(&source->payload_type_count, memory_order_relaxed);
    unsigned index = 0;
    while (index < count && source->payload_types[index] != payload_type) index += 1;
    if (index == CTAPEDECK_SOURCE_PAYLOAD_TYPES) {
        counter_add_alone(&source->beyond, 1);
        note_refused(path);
        return false;
    }
    if (index == count) {
        source->payload_types[index] = payload_type;
        atomic_store_explicit(&source->payload_type_count, count + 1, memory_order_release);
    }
    counter_add_alone(&source->packets[index], 1);
    path->entering = source;
    return true;
}

// Properties of a packet.
typedef struct {
    bool is_control;
    // The source that srtpdec would keep a stream for.
    uint32_t ssrc;
    // For media.
    uint8_t payload_type;
} Header;

// False if there is no source: srtpdec reads on behind a header that it does not know then, where all is still encrypted, and
// would keep what it takes for a source there.
static bool read_header(GstBuffer *packet, Header *read) {
    GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
    if (gst_rtp_buffer_map(packet, GST_MAP_READ | GST_RTP_BUFFER_MAP_FLAG_SKIP_PADDING, &rtp)) {
        uint8_t type = gst_rtp_buffer_get_payload_type(&rtp);
        *read = (Header){.ssrc = gst_rtp_buffer_get_ssrc(&rtp), .payload_type = type};
        gst_rtp_buffer_unmap(&rtp);
        if (type < FIRST_CONTROL_TYPE || type > LAST_CONTROL_TYPE) return true;
    }
    uint8_t header[8];
    if (gst_buffer_extract(packet, 0, header, sizeof header) != sizeof header) return false;
    *read = (Header){.is_control = true, .ssrc = GST_READ_UINT32_BE(header + 4)};
    switch (header[1]) {
        case GST_RTCP_TYPE_SR:
        case GST_RTCP_TYPE_RR:
        case GST_RTCP_TYPE_APP:
        case GST_RTCP_TYPE_RTPFB:
        case GST_RTCP_TYPE_PSFB:
            return true;
        case GST_RTCP_TYPE_BYE:
            return (header[0] & 0x1F) != 0;
        default:
            return false;
    }
}

static bool set_tag_size(const GstStructure *fields, const char *name, srtp_crypto_policy_t *policy) {
    srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(policy);
    const char *authentication = gst_structure_get_string(fields, name);
    if (g_strcmp0(authentication, "hmac-sha1-32") == 0) policy->auth_tag_len = SHORT_TAG_SIZE;
    return policy->auth_tag_len == SHORT_TAG_SIZE || g_strcmp0(authentication, "hmac-sha1-80") == 0;
}

// False if the keys are of a kind that this file does not know, or a library refuses them.
static bool open_key(ReceivePath *path, const GstCaps *caps) {
    const GstStructure *fields = gst_caps_get_structure(caps, 0);
    srtp_policy_t policy = {.ssrc = {.type = ssrc_any_inbound}};
    GstBuffer *key = NULL;
    uint8_t bytes[KEY_SIZE];
    bool is_ours = g_strcmp0(gst_structure_get_string(fields, "srtp-cipher"), "aes-128-icm") == 0 &&
                   g_strcmp0(gst_structure_get_string(fields, "srtcp-cipher"), "aes-128-icm") == 0 &&
                   set_tag_size(fields, "srtp-auth", &policy.rtp) && set_tag_size(fields, "srtcp-auth", &policy.rtcp) &&
                   gst_structure_get(fields, "srtp-key", GST_TYPE_BUFFER, &key, NULL) && key != NULL &&
                   gst_buffer_get_size(key) == KEY_SIZE;
    if (is_ours) {
        gst_buffer_extract(key, 0, bytes, KEY_SIZE);
        policy.key = bytes;
        if (srtp_create(&path->verifier, &policy) != srtp_err_status_ok) path->verifier = NULL;
        path->receiver = CTapedeck_srtp_receiver_new(bytes, (size_t)policy.rtp.auth_tag_len, path->settings.maximum_sources);
        explicit_bzero(bytes, KEY_SIZE);
    }
    gst_clear_buffer(&key);
    return path->verifier != NULL && path->receiver != NULL;
}

// False before the handshake is done.
static bool has_key(ReceivePath *path, GstElement *srtpdec, uint32_t ssrc) {
    if (path->has_key) return true;
    GstCaps *caps = NULL;
    g_signal_emit_by_name(srtpdec, "request-key", ssrc, &caps);
    if (caps == NULL) return false;
    path->has_key = true;
    path->knows_key = open_key(path, caps);
    if (!path->knows_key) path->way = WAY_THROUGH;
    gst_caps_unref(caps);
    return true;
}

// The bytes of a packet, the caller's to free.
static uint8_t *copy_of(GstBuffer *packet, gsize *size) {
    gpointer copy = NULL;
    gst_buffer_extract_dup(packet, 0, gst_buffer_get_size(packet), &copy, size);
    return copy;
}

// Whether srtpdec would take a packet of RTCP. It cannot forget a source again: 1.22 gives libsrtp the number in the wrong byte
// order when a key is to be removed.
static bool is_authentic_control(ReceivePath *path, GstBuffer *packet, uint32_t ssrc) {
    gsize size = 0;
    uint8_t *copy = copy_of(packet, &size);
    int length = (int)size;
    srtp_err_status_t status = srtp_unprotect_rtcp(path->verifier, copy, &length);
    g_free(copy);
    if (status != srtp_err_status_ok) return false;
    srtp_remove_stream(path->verifier, g_htonl(ssrc));
    return true;
}

// The same for media; the position of the source's sequence numbers is noted.
static bool is_authentic_media(ReceivePath *path, GstBuffer *packet) {
    gsize size = 0;
    uint8_t *copy = copy_of(packet, &size);
    bool result = CTapedeck_srtp_receiver_open(path->receiver, copy, size) > 0;
    g_free(copy);
    return result;
}

// Removes contributing sources: rtpsession keeps them too, and they are not needed here. The fixed header moves up to
// what follows them (RFC 3550 section 5.1). Returns by how much, -1 if the packet is damaged.
static gssize drop_contributors(uint8_t *packet, gsize size) {
    gsize length = size > 0 ? (packet[0] & 0x0F) * 4u : 0;
    if (length == 0) return 0;
    if (size < RTP_FIXED_HEADER_SIZE + length) return -1;
    memmove(packet + length, packet, RTP_FIXED_HEADER_SIZE);
    packet[length] &= 0xF0;
    return (gssize)length;
}

// Decrypts a packet where it is. False if it is not authentic.
static bool open_media(ReceivePath *path, GstBuffer *packet) {
    GstMapInfo map;
    if (!gst_buffer_map(packet, &map, GST_MAP_READWRITE)) return false;
    size_t size = CTapedeck_srtp_receiver_open(path->receiver, map.data, map.size);
    gssize offset = size > 0 ? drop_contributors(map.data, size) : -1;
    gst_buffer_unmap(packet, &map);
    if (offset < 0) return false;
    gst_buffer_resize(packet, offset, (gssize)size - offset);
    return true;
}

// Looks for rtpsession once. While nothing is linked to srtpdec its way is not known.
static void find_way(ReceivePath *path, GstElement *srtpdec) {
    GstPad *sink = session_way_find(path, srtpdec);
    if (path->looked_for_session && path->way == WAY_UNKNOWN) {
        path->way = sink != NULL ? WAY_AROUND : WAY_THROUGH;
        path->session_sink = g_steal_pointer(&sink);
    }
    gst_clear_object(&sink);
}

static bool may_go_around(ReceivePath *path) {
    if (path->way == WAY_AROUND && !path->is_session_ready) {
        path->is_session_ready = receive_path_is_ready(path->session_sink);
    }
    return path->is_session_ready;
}

// Media of a source that is known, or is new and has room: NULL.
static GstPadProbeReturn take_media(ReceivePath *path, GstPadProbeInfo *info, Header header, PathSource *known) {
    GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
    bool goes_around = may_go_around(path);
    if (goes_around) {
        packet = gst_buffer_make_writable(packet);
        GST_PAD_PROBE_INFO_DATA(info) = packet;
        if (!open_media(path, packet)) {
            note_unopened(path);
            return GST_PAD_PROBE_DROP;
        }
    } else if (known == NULL || path->way != WAY_THROUGH) {
        // A source that goes around later must have been followed from its first packet on.
        if (!is_authentic_media(path, packet)) {
            note_unopened(path);
            return GST_PAD_PROBE_DROP;
        }
    }
    if (known == NULL) known = let_in(path, header.ssrc);
    // Packets that go through srtpdec are authentic after it.
    if (!goes_around) return GST_PAD_PROBE_OK;
    if (!may_carry(path, known, header.payload_type)) return GST_PAD_PROBE_DROP;
    counter_add_alone(&path->decrypted, 1);
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = gst_pad_chain(path->session_sink, packet);
    return GST_PAD_PROBE_HANDLED;
}

// With the key: each of them comes by the probe once more.
static void pass_early(ReceivePath *path, GstPad *pad) {
    HeldPackets early = path->early;
    path->early = (HeldPackets){0};
    GstBuffer *packet;
    while ((packet = held_packets_take(&early)) != NULL) gst_pad_chain(pad, packet);
}

// Streaming thread, before decryption.
static GstPadProbeReturn on_protected(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    ReceivePath *path = user;
    if (atomic_load_explicit(&path->is_closed, memory_order_relaxed)) return GST_PAD_PROBE_DROP;
    GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
    Header header;
    if (!read_header(packet, &header)) return GST_PAD_PROBE_DROP;
    // The element of a pad that is given a packet lives.
    GstElement *srtpdec = GST_ELEMENT(GST_PAD_PARENT(pad));
    if (!has_key(path, srtpdec, header.ssrc)) {
        // A peer whose side of the handshake is done sends media: they may overtake the end of the handshake, and
        // continue while that must be sent again.
        held_packets_add(&path->early, packet, MAXIMUM_EARLY_PACKETS, MAXIMUM_EARLY_BYTES);
        return GST_PAD_PROBE_HANDLED;
    }
    pass_early(path, pad);
    PathSource *known = known_of(path, header.ssrc);
    if (known == NULL && !has_room(path)) {
        note_refused(path);
        return GST_PAD_PROBE_DROP;
    }
    if (!header.is_control && !path->looked_for_session) find_way(path, srtpdec);
    if (path->knows_key && !header.is_control) return take_media(path, info, header, known);
    // With a key of another kind it is still bounded.
    if (known == NULL && path->knows_key && !is_authentic_control(path, packet, header.ssrc)) return GST_PAD_PROBE_DROP;
    if (known == NULL) let_in(path, header.ssrc);
    return GST_PAD_PROBE_OK;
}

// Streaming thread, behind srtpdec.
static GstPadProbeReturn on_media(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    ReceivePath *path = user;
    GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
    uint8_t header[RTP_FIXED_HEADER_SIZE];
    if (gst_buffer_extract(packet, 0, header, sizeof header) != sizeof header) return GST_PAD_PROBE_DROP;
    PathSource *known = known_of(path, GST_READ_UINT32_BE(header + 8));
    if (known == NULL || !may_carry(path, known, header[1] & 0x7F)) return GST_PAD_PROBE_DROP;
    if ((header[0] & 0x0F) == 0) return GST_PAD_PROBE_OK;
    packet = gst_buffer_make_writable(packet);
    GST_PAD_PROBE_INFO_DATA(info) = packet;
    GstMapInfo map;
    if (!gst_buffer_map(packet, &map, GST_MAP_READWRITE)) return GST_PAD_PROBE_DROP;
    gssize offset = drop_contributors(map.data, map.size);
    gst_buffer_unmap(packet, &map);
    if (offset < 0) return GST_PAD_PROBE_DROP;
    gst_buffer_resize(packet, offset, -1);
    return GST_PAD_PROBE_OK;
}

static bool may_report(void *path, uint32_t ssrc) {
    bool may = may_be_named(path, ssrc);
    if (!may) note_refused(path);
    return may;
}

static bool may_be_described(void *path, uint32_t ssrc) { return known_of(path, ssrc) != NULL; }

// Streaming thread, behind decryption.
static GstPadProbeReturn on_control(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
    GstMapInfo map;
    packet = gst_buffer_make_writable(packet);
    GST_PAD_PROBE_INFO_DATA(info) = packet;
    if (!gst_buffer_map(packet, &map, GST_MAP_READWRITE)) return GST_PAD_PROBE_DROP;
    const RTCPFilter filter = {.may_report = may_report, .is_known = may_be_described, .user = user};
    gsize size = rtcp_filter_keep(&filter, map.data, map.size);
    gst_buffer_unmap(packet, &map);
    if (size == 0) return GST_PAD_PROBE_DROP;
    gst_buffer_set_size(packet, (gssize)size);
    return GST_PAD_PROBE_OK;
}

// webrtcbin has one transport for all media (max-bundle). Nothing would guard another one.
static GstPadProbeReturn refuse(GstPad *pad, GstPadProbeInfo *info, gpointer path) {
    (void)pad;
    (void)info;
    (void)path;
    return GST_PAD_PROBE_DROP;
}

void source_guard_meet(ReceivePath *path, GstElement *srtpdec) {
    GstElement *other = g_weak_ref_get(&path->srtpdec);
    bool is_only = other == NULL;
    gst_clear_object(&other);
    // RTCP comes by the pad of RTP: they share a transport.
    receive_path_watch(path, srtpdec, "rtp_sink", is_only ? on_protected : refuse);
    receive_path_watch(path, srtpdec, "rtcp_sink", is_only ? on_protected : refuse);
    if (!is_only) return;
    g_weak_ref_set(&path->srtpdec, srtpdec);
    // For media that go through it.
    g_object_set(srtpdec, "replay-window-size", (guint)CTAPEDECK_SRTP_WINDOW, NULL);
    receive_path_watch(path, srtpdec, "rtp_src", on_media);
    receive_path_watch(path, srtpdec, "rtcp_src", on_control);
}

bool source_guard_takes(ReceivePath *path, PathTrack *track) {
    (void)track;
    return atomic_load(&path->way) != WAY_THROUGH;
}

void source_guard_close(ReceivePath *path) {
    static const char *const names[] = {"rtp_sink", "rtcp_sink"};
    atomic_store(&path->is_closed, true);
    GstElement *srtpdec = g_weak_ref_get(&path->srtpdec);
    for (size_t index = 0; srtpdec != NULL && index < G_N_ELEMENTS(names); index++) {
        GstPad *pad = gst_element_get_static_pad(srtpdec, names[index]);
        if (pad == NULL) continue;
        // A thread that pushes a packet holds the lock until the packet is where it ends.
        GST_PAD_STREAM_LOCK(pad);
        GST_PAD_STREAM_UNLOCK(pad);
        gst_object_unref(pad);
    }
    gst_clear_object(&srtpdec);
}

uint64_t CTapedeck_forged_packets(void) { return counter_read(&all_forged); }
