// SPDX-License-Identifier: Apache-2.0

#include <gst/rtp/rtp.h>
#include <srtp2/srtp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "CTapedeckSources.h"

enum {
    // What srtpdec takes for RTCP: 192 to 208 without the bit that RTP has its marker in (RFC 5761 section 4).
    FIRST_CONTROL_TYPE = 64,
    LAST_CONTROL_TYPE = 80,
    // AES-128 and its salt (RFC 3711 section 8.2).
    KEY_SIZE = SRTP_AES_ICM_128_KEY_LEN_WSALT,
    SHORT_TAG_SIZE = 4,
    FIXED_HEADER_SIZE = 12,
};

struct CTapedeckSourceGuard {
    gatomicrefcount references;
    uint32_t maximum_sources;
    CTapedeckSourceCallback callback;
    void *user;
    GDestroyNotify release;
    atomic_uint sources_known;
    atomic_uint_fast64_t refused;

    // What follows belongs to whoever holds the stream lock of srtpdec's sink: the probes of its sources run below it.
    GHashTable *known;
    // Knows the peer's key and no source; NULL until there is a key.
    srtp_t verifier;
};

static CTapedeckSourceGuard *guard_ref(CTapedeckSourceGuard *guard) {
    g_atomic_ref_count_inc(&guard->references);
    return guard;
}

void CTapedeck_source_guard_unref(CTapedeckSourceGuard *guard) {
    if (!g_atomic_ref_count_dec(&guard->references)) return;
    if (guard->release != NULL) guard->release(guard->user);
    if (guard->verifier != NULL) srtp_dealloc(guard->verifier);
    g_hash_table_unref(guard->known);
    g_free(guard);
}

static void release_guard(gpointer guard) { CTapedeck_source_guard_unref(guard); }

static bool is_known(CTapedeckSourceGuard *guard, uint32_t ssrc) {
    return g_hash_table_contains(guard->known, GUINT_TO_POINTER(ssrc));
}

static bool has_room(CTapedeckSourceGuard *guard) { return g_hash_table_size(guard->known) < guard->maximum_sources; }

static void let_in(CTapedeckSourceGuard *guard, uint32_t ssrc) {
    g_hash_table_add(guard->known, GUINT_TO_POINTER(ssrc));
    atomic_store_explicit(&guard->sources_known, g_hash_table_size(guard->known), memory_order_relaxed);
}

// A source that an authentic packet names.
static bool may_be_named(CTapedeckSourceGuard *guard, uint32_t ssrc) {
    if (is_known(guard, ssrc)) return true;
    if (!has_room(guard)) return false;
    let_in(guard, ssrc);
    return true;
}

static void note_refused(CTapedeckSourceGuard *guard) {
    if (atomic_fetch_add_explicit(&guard->refused, 1, memory_order_relaxed) == 0 && guard->callback != NULL) {
        guard->callback(guard->user);
    }
}

// What the packet is, and the source that srtpdec would keep a stream for. False if there is none: it reads on behind a
// header that it does not know then, where all is still encrypted, and would keep what it takes for a source there.
static bool read_source(GstBuffer *packet, bool *is_control, uint32_t *ssrc) {
    GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
    if (gst_rtp_buffer_map(packet, GST_MAP_READ | GST_RTP_BUFFER_MAP_FLAG_SKIP_PADDING, &rtp)) {
        uint8_t type = gst_rtp_buffer_get_payload_type(&rtp);
        *ssrc = gst_rtp_buffer_get_ssrc(&rtp);
        gst_rtp_buffer_unmap(&rtp);
        *is_control = false;
        if (type < FIRST_CONTROL_TYPE || type > LAST_CONTROL_TYPE) return true;
    }
    uint8_t header[8];
    if (gst_buffer_extract(packet, 0, header, sizeof header) != sizeof header) return false;
    *is_control = true;
    *ssrc = GST_READ_UINT32_BE(header + 4);
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

// False if the keys are of a kind that this file does not know, or libsrtp refuses.
static bool open_verifier(CTapedeckSourceGuard *guard, const GstCaps *caps) {
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
        is_ours = srtp_create(&guard->verifier, &policy) == srtp_err_status_ok;
        if (!is_ours) guard->verifier = NULL;
        explicit_bzero(bytes, KEY_SIZE);
    }
    gst_clear_buffer(&key);
    return is_ours;
}

// Whether srtpdec would take the packet. It cannot forget a source again: 1.22 gives libsrtp the number in the wrong byte
// order when a key is to be removed.
static bool is_authentic(CTapedeckSourceGuard *guard, GstElement *srtpdec, GstBuffer *packet, bool is_control,
                         uint32_t ssrc) {
    if (guard->verifier == NULL) {
        GstCaps *caps = NULL;
        g_signal_emit_by_name(srtpdec, "request-key", ssrc, &caps);
        // Before the handshake is done nothing is taken.
        if (caps == NULL) return false;
        bool is_open = open_verifier(guard, caps);
        gst_caps_unref(caps);
        // Still bounded.
        if (!is_open) return true;
    }
    gpointer copy = NULL;
    gsize size = 0;
    gst_buffer_extract_dup(packet, 0, gst_buffer_get_size(packet), &copy, &size);
    int length = (int)size;
    srtp_err_status_t status = is_control ? srtp_unprotect_rtcp(guard->verifier, copy, &length)
                                          : srtp_unprotect(guard->verifier, copy, &length);
    g_free(copy);
    if (status != srtp_err_status_ok) return false;
    srtp_remove_stream(guard->verifier, g_htonl(ssrc));
    return true;
}

// Streaming thread, before decryption.
static GstPadProbeReturn on_protected(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    CTapedeckSourceGuard *guard = user;
    GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
    bool is_control;
    uint32_t ssrc;
    if (!read_source(packet, &is_control, &ssrc)) return GST_PAD_PROBE_DROP;
    if (is_known(guard, ssrc)) return GST_PAD_PROBE_OK;
    if (!has_room(guard)) {
        note_refused(guard);
        return GST_PAD_PROBE_DROP;
    }
    // The element of a pad that is given a packet lives.
    if (!is_authentic(guard, GST_ELEMENT(GST_PAD_PARENT(pad)), packet, is_control, ssrc)) return GST_PAD_PROBE_DROP;
    let_in(guard, ssrc);
    return GST_PAD_PROBE_OK;
}

// Takes the contributing sources off: the fixed header moves up to what follows them (RFC 3550 section 5.1).
static GstBuffer *without_contributors(GstBuffer *packet, gsize count) {
    packet = gst_buffer_make_writable(packet);
    GstMapInfo map;
    if (!gst_buffer_map(packet, &map, GST_MAP_READWRITE)) return packet;
    gsize length = count * 4;
    memmove(map.data + length, map.data, FIXED_HEADER_SIZE);
    map.data[length] &= 0xF0;
    gst_buffer_unmap(packet, &map);
    gst_buffer_resize(packet, (gssize)length, -1);
    return packet;
}

// Streaming thread, behind decryption: rtpsession keeps contributing sources too.
static GstPadProbeReturn on_media(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    CTapedeckSourceGuard *guard = user;
    GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
    uint8_t header[FIXED_HEADER_SIZE + 15 * 4];
    if (gst_buffer_extract(packet, 0, header, 1) != 1 || (header[0] & 0x0F) == 0) return GST_PAD_PROBE_OK;
    gsize count = header[0] & 0x0F;
    gsize size = FIXED_HEADER_SIZE + count * 4;
    if (gst_buffer_extract(packet, 0, header, size) != size) return GST_PAD_PROBE_DROP;
    for (gsize offset = FIXED_HEADER_SIZE; offset < size; offset += 4) {
        if (may_be_named(guard, GST_READ_UINT32_BE(header + offset))) continue;
        note_refused(guard);
        GST_PAD_PROBE_INFO_DATA(info) = without_contributors(packet, count);
        break;
    }
    return GST_PAD_PROBE_OK;
}

static bool names_known(CTapedeckSourceGuard *guard, GstRTCPPacket *packet) {
    guint32 ssrc = 0;
    switch (gst_rtcp_packet_get_type(packet)) {
        case GST_RTCP_TYPE_SR:
            gst_rtcp_packet_sr_get_sender_info(packet, &ssrc, NULL, NULL, NULL, NULL);
            return may_be_named(guard, ssrc);
        case GST_RTCP_TYPE_RR:
            return may_be_named(guard, gst_rtcp_packet_rr_get_ssrc(packet));
        case GST_RTCP_TYPE_SDES:
            for (gboolean more = gst_rtcp_packet_sdes_first_item(packet); more;
                 more = gst_rtcp_packet_sdes_next_item(packet)) {
                if (!may_be_named(guard, gst_rtcp_packet_sdes_get_ssrc(packet))) return false;
            }
            return true;
        default:
            // Of what these name, rtpsession only looks for what it has.
            return true;
    }
}

// Streaming thread, behind decryption: one datagram has room for two hundred sources.
static GstPadProbeReturn on_control(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    CTapedeckSourceGuard *guard = user;
    GstRTCPBuffer rtcp = GST_RTCP_BUFFER_INIT;
    GstRTCPPacket packet;
    if (!gst_rtcp_buffer_map(GST_PAD_PROBE_INFO_BUFFER(info), GST_MAP_READ, &rtcp)) return GST_PAD_PROBE_DROP;
    bool passes = true;
    gboolean more = gst_rtcp_buffer_get_first_packet(&rtcp, &packet);
    while (more && passes) {
        passes = names_known(guard, &packet);
        more = gst_rtcp_packet_move_to_next(&packet);
    }
    gst_rtcp_buffer_unmap(&rtcp);
    if (passes) return GST_PAD_PROBE_OK;
    note_refused(guard);
    return GST_PAD_PROBE_DROP;
}

static void watch(CTapedeckSourceGuard *guard, GstElement *srtpdec, const char *name, GstPadProbeCallback probe) {
    GstPad *pad = gst_element_get_static_pad(srtpdec, name);
    if (pad == NULL) return;
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, probe, guard_ref(guard), release_guard);
    gst_object_unref(pad);
}

CTapedeckSourceGuard *CTapedeck_source_guard_new(GstElement *srtpdec, uint32_t maximum_sources,
                                                 CTapedeckSourceCallback callback, void *user, GDestroyNotify release) {
    CTapedeckSourceGuard *guard = g_new0(CTapedeckSourceGuard, 1);
    g_atomic_ref_count_init(&guard->references);
    guard->maximum_sources = maximum_sources;
    guard->callback = callback;
    guard->user = user;
    guard->release = release;
    guard->known = g_hash_table_new(NULL, NULL);
    // RTCP comes by the pad of RTP: they share a transport.
    watch(guard, srtpdec, "rtp_sink", on_protected);
    watch(guard, srtpdec, "rtcp_sink", on_protected);
    watch(guard, srtpdec, "rtp_src", on_media);
    watch(guard, srtpdec, "rtcp_src", on_control);
    return guard;
}

uint32_t CTapedeck_source_guard_sources(CTapedeckSourceGuard *guard) {
    return atomic_load_explicit(&guard->sources_known, memory_order_relaxed);
}

uint64_t CTapedeck_source_guard_refused(CTapedeckSourceGuard *guard) {
    return atomic_load_explicit(&guard->refused, memory_order_relaxed);
}
