// SPDX-License-Identifier: Apache-2.0

#include <gst/rtp/rtp.h>
#include <srtp2/srtp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "CTapedeckSRTP.h"
#include "CTapedeckSources.h"
#include "held_packets.h"
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
    MAXIMUM_STEPS = 16,
    // Before the key is there: more than a camera sends until a lost end of a handshake comes again, after a second (RFC 6347
    // section 4.2.4.1).
    MAXIMUM_EARLY_PACKETS = 1024,
    MAXIMUM_EARLY_BYTES = 1 << 20,
};

G_STATIC_ASSERT((int)KEY_SIZE == (int)CTAPEDECK_SRTP_KEY_SIZE);

// The way of media.
typedef enum {
    WAY_UNKNOWN = 0,
    // Through srtpdec.
    WAY_THROUGH,
    // Around srtpdec, once it has announced the stream to rtpsession.
    WAY_AROUND,
} Way;

// A source that was let in, and the payload types that came of it, with the packets of each that were authentic. The
// holder of the stream lock writes; any thread reads.
typedef struct {
    uint32_t ssrc;
    uint8_t payload_types[CTAPEDECK_SOURCE_PAYLOAD_TYPES];
    // This many of the payload types are valid.
    atomic_uint payload_type_count;
    atomic_uint_fast64_t packets[CTAPEDECK_SOURCE_PAYLOAD_TYPES];
    // Packets of other payload types.
    atomic_uint_fast64_t beyond;
    // Packets that rtpsession gave out.
    atomic_uint_fast64_t passed;
} Known;

struct CTapedeckSourceGuard {
    gatomicrefcount references;
    uint32_t maximum_sources;
    CTapedeckSourceCallback callback;
    void *user;
    GDestroyNotify release;
    // Nothing passes any more, and nothing is counted.
    atomic_bool is_closed;
    atomic_uint sources_known;
    atomic_uint_fast64_t refused;

    // The members below are protected by the stream lock of srtpdec's sink: the probes of its sources run below it. By
    // SSRC.
    GHashTable *known;
    // The source of the packet that rtpsession has now. Packets that come out of it then are of this source: rtpsession keeps
    // those of a new source back until it believes in it.
    Known *entering;
    bool looked_for_session;
    // Whether the peer's key was there, and whether it is of a kind that this file knows.
    bool has_key;
    bool knows_key;
    // Packets that came before it.
    HeldPackets early;
    // Knows the key and no source: for RTCP that comes first.
    srtp_t verifier;
    // Decrypts media in srtpdec's place.
    CTapedeckSRTPReceiver *receiver;
    // Written by the holder of the lock.
    _Atomic(Way) way;
    // With WAY_AROUND: the sink of rtpsession, and whether it got the announcement of the stream.
    GstPad *session_sink;
    bool is_session_ready;

    atomic_uint_fast64_t decrypted;
    atomic_uint_fast64_t forged;
    // The sources in the order in which they came: as many as are known are there.
    Known **row;
    // Whether there is an rtpsession whose packets are counted.
    atomic_bool has_session;
};

// Sum over all connections of the process.
static atomic_uint_fast64_t all_forged;

static CTapedeckSourceGuard *guard_ref(CTapedeckSourceGuard *guard) {
    g_atomic_ref_count_inc(&guard->references);
    return guard;
}

void CTapedeck_source_guard_unref(CTapedeckSourceGuard *guard) {
    if (!g_atomic_ref_count_dec(&guard->references)) return;
    if (guard->release != NULL) guard->release(guard->user);
    held_packets_clear(&guard->early);
    if (guard->verifier != NULL) srtp_dealloc(guard->verifier);
    if (guard->receiver != NULL) CTapedeck_srtp_receiver_free(guard->receiver);
    gst_clear_object(&guard->session_sink);
    g_hash_table_unref(guard->known);
    g_free(guard->row);
    g_free(guard);
}

static void release_guard(gpointer guard) { CTapedeck_source_guard_unref(guard); }

// NULL if it was not let in.
static Known *known_of(CTapedeckSourceGuard *guard, uint32_t ssrc) {
    return g_hash_table_lookup(guard->known, GUINT_TO_POINTER(ssrc));
}

static bool is_known(CTapedeckSourceGuard *guard, uint32_t ssrc) { return known_of(guard, ssrc) != NULL; }

static bool has_room(CTapedeckSourceGuard *guard) { return g_hash_table_size(guard->known) < guard->maximum_sources; }

static Known *let_in(CTapedeckSourceGuard *guard, uint32_t ssrc) {
    Known *known = g_new0(Known, 1);
    known->ssrc = ssrc;
    guard->row[g_hash_table_size(guard->known)] = known;
    g_hash_table_insert(guard->known, GUINT_TO_POINTER(ssrc), known);
    // Behind what it is about.
    atomic_store_explicit(&guard->sources_known, g_hash_table_size(guard->known), memory_order_release);
    return known;
}

// A source for which an authentic packet reports.
static bool may_be_named(CTapedeckSourceGuard *guard, uint32_t ssrc) {
    if (is_known(guard, ssrc)) return true;
    if (!has_room(guard)) return false;
    let_in(guard, ssrc);
    return true;
}

static void note_refused(CTapedeckSourceGuard *guard) {
    if (atomic_fetch_add_explicit(&guard->refused, 1, memory_order_relaxed) == 0 && guard->callback != NULL) {
        guard->callback(guard->user, CTAPEDECK_REFUSED_SOURCE);
    }
}

// Among packets that were not opened, separates those whose tag is wrong from those that came twice or too late.
static void note_unopened(CTapedeckSourceGuard *guard) {
    uint64_t forged = CTapedeck_srtp_receiver_forged(guard->receiver);
    uint64_t before = atomic_exchange_explicit(&guard->forged, forged, memory_order_relaxed);
    if (forged == before) return;
    atomic_fetch_add_explicit(&all_forged, forged - before, memory_order_relaxed);
    if (before == 0 && guard->callback != NULL) guard->callback(guard->user, CTAPEDECK_REFUSED_KEY);
}

// One thread writes.
static void add(atomic_uint_fast64_t *counter, uint64_t more) {
    uint_fast64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + more, memory_order_relaxed);
}

// Whether another packet of an authentic source may have the payload type; counts it. Called once for each.
static bool may_carry(CTapedeckSourceGuard *guard, Known *known, uint8_t payload_type) {
    unsigned count = atomic_load_explicit(&known->payload_type_count, memory_order_relaxed);
    unsigned index = 0;
    while (index < count && known->payload_types[index] != payload_type) index += 1;
    if (index == CTAPEDECK_SOURCE_PAYLOAD_TYPES) {
        add(&known->beyond, 1);
        note_refused(guard);
        return false;
    }
    if (index == count) {
        known->payload_types[index] = payload_type;
        atomic_store_explicit(&known->payload_type_count, count + 1, memory_order_release);
    }
    add(&known->packets[index], 1);
    guard->entering = known;
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
static bool open_key(CTapedeckSourceGuard *guard, const GstCaps *caps) {
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
        if (srtp_create(&guard->verifier, &policy) != srtp_err_status_ok) guard->verifier = NULL;
        guard->receiver = CTapedeck_srtp_receiver_new(bytes, (size_t)policy.rtp.auth_tag_len, guard->maximum_sources);
        explicit_bzero(bytes, KEY_SIZE);
    }
    gst_clear_buffer(&key);
    return guard->verifier != NULL && guard->receiver != NULL;
}

// False before the handshake is done.
static bool has_key(CTapedeckSourceGuard *guard, GstElement *srtpdec, uint32_t ssrc) {
    if (guard->has_key) return true;
    GstCaps *caps = NULL;
    g_signal_emit_by_name(srtpdec, "request-key", ssrc, &caps);
    if (caps == NULL) return false;
    guard->has_key = true;
    guard->knows_key = open_key(guard, caps);
    if (!guard->knows_key) guard->way = WAY_THROUGH;
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
static bool is_authentic_control(CTapedeckSourceGuard *guard, GstBuffer *packet, uint32_t ssrc) {
    gsize size = 0;
    uint8_t *copy = copy_of(packet, &size);
    int length = (int)size;
    srtp_err_status_t status = srtp_unprotect_rtcp(guard->verifier, copy, &length);
    g_free(copy);
    if (status != srtp_err_status_ok) return false;
    srtp_remove_stream(guard->verifier, g_htonl(ssrc));
    return true;
}

// The same for media; the position of the source's sequence numbers is noted.
static bool is_authentic_media(CTapedeckSourceGuard *guard, GstBuffer *packet) {
    gsize size = 0;
    uint8_t *copy = copy_of(packet, &size);
    bool result = CTapedeck_srtp_receiver_open(guard->receiver, copy, size) > 0;
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
static bool open_media(CTapedeckSourceGuard *guard, GstBuffer *packet) {
    GstMapInfo map;
    if (!gst_buffer_map(packet, &map, GST_MAP_READWRITE)) return false;
    size_t size = CTapedeck_srtp_receiver_open(guard->receiver, map.data, map.size);
    gssize offset = size > 0 ? drop_contributors(map.data, size) : -1;
    gst_buffer_unmap(packet, &map);
    if (offset < 0) return false;
    gst_buffer_resize(packet, offset, (gssize)size - offset);
    return true;
}

// One pad further down; NULL at an element.
static GstPad *step_down(GstPad *pad) {
    if (GST_IS_GHOST_PAD(pad) && GST_PAD_IS_SINK(pad)) return gst_ghost_pad_get_target(GST_GHOST_PAD(pad));
    GstObject *parent = gst_pad_get_parent(pad);
    // The inner end of a bin's source.
    bool is_inner = parent != NULL && GST_IS_GHOST_PAD(parent);
    GstPad *next = NULL;
    if (is_inner) {
        next = gst_object_ref(GST_PAD(parent));
    } else if (GST_PAD_IS_SRC(pad)) {
        next = gst_pad_get_peer(pad);
    }
    gst_clear_object(&parent);
    return next;
}

// Streaming thread, behind rtpsession.
static GstPadProbeReturn on_passed(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    (void)info;
    CTapedeckSourceGuard *guard = user;
    if (guard->entering != NULL) add(&guard->entering->passed, 1);
    return GST_PAD_PROBE_OK;
}

// Counts what an rtpsession gives out.
static void watch_session(CTapedeckSourceGuard *guard, GstElement *session) {
    GstPad *pad = gst_element_get_static_pad(session, "recv_rtp_src");
    if (pad == NULL) return;
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_passed, guard_ref(guard), release_guard);
    atomic_store_explicit(&guard->has_session, true, memory_order_relaxed);
    gst_object_unref(pad);
}

// Looks for the sink of rtpsession, the caller's; NULL if something else follows, in which case `is_linked` says
// whether anything does.
static GstPad *find_session(GstElement *srtpdec, bool *is_linked) {
    GstPad *at = gst_element_get_static_pad(srtpdec, "rtp_src");
    GstPad *next;
    for (int step = 0; at != NULL && step < MAXIMUM_STEPS && (next = step_down(at)) != NULL; step++) {
        gst_object_unref(at);
        at = next;
    }
    if (at == NULL) return NULL;
    GstElement *element = gst_pad_get_parent_element(at);
    GstElementFactory *factory = element != NULL ? gst_element_get_factory(element) : NULL;
    *is_linked = GST_PAD_IS_SINK(at);
    bool is_session = *is_linked && factory != NULL && g_strcmp0(GST_OBJECT_NAME(factory), "rtpsession") == 0;
    gst_clear_object(&element);
    if (!is_session) gst_clear_object(&at);
    return at;
}

// Looks for rtpsession once. While nothing is linked to srtpdec its way is not known.
static void find_way(CTapedeckSourceGuard *guard, GstElement *srtpdec) {
    bool is_linked = false;
    GstPad *sink = find_session(srtpdec, &is_linked);
    if (!is_linked) return;
    guard->looked_for_session = true;
    GstElement *session = sink != NULL ? gst_pad_get_parent_element(sink) : NULL;
    if (session != NULL) watch_session(guard, session);
    gst_clear_object(&session);
    if (guard->way == WAY_UNKNOWN) {
        guard->way = sink != NULL ? WAY_AROUND : WAY_THROUGH;
        guard->session_sink = sink;
    } else {
        gst_clear_object(&sink);
    }
}

static bool may_go_around(CTapedeckSourceGuard *guard) {
    if (guard->way == WAY_AROUND && !guard->is_session_ready) {
        GstEvent *segment = gst_pad_get_sticky_event(guard->session_sink, GST_EVENT_SEGMENT, 0);
        guard->is_session_ready = segment != NULL;
        gst_clear_event(&segment);
    }
    return guard->is_session_ready;
}

// Media of a source that is known, or is new and has room: NULL.
static GstPadProbeReturn take_media(CTapedeckSourceGuard *guard, GstPadProbeInfo *info, Header header, Known *known) {
    GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
    bool goes_around = may_go_around(guard);
    if (goes_around) {
        packet = gst_buffer_make_writable(packet);
        GST_PAD_PROBE_INFO_DATA(info) = packet;
        if (!open_media(guard, packet)) {
            note_unopened(guard);
            return GST_PAD_PROBE_DROP;
        }
    } else if (known == NULL || guard->way != WAY_THROUGH) {
        // A source that goes around later must have been followed from its first packet on.
        if (!is_authentic_media(guard, packet)) {
            note_unopened(guard);
            return GST_PAD_PROBE_DROP;
        }
    }
    if (known == NULL) known = let_in(guard, header.ssrc);
    // Packets that go through srtpdec are authentic after it.
    if (!goes_around) return GST_PAD_PROBE_OK;
    if (!may_carry(guard, known, header.payload_type)) return GST_PAD_PROBE_DROP;
    atomic_fetch_add_explicit(&guard->decrypted, 1, memory_order_relaxed);
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = gst_pad_chain(guard->session_sink, packet);
    return GST_PAD_PROBE_HANDLED;
}

// With the key: each of them comes by the probe once more.
static void pass_early(CTapedeckSourceGuard *guard, GstPad *pad) {
    HeldPackets early = guard->early;
    guard->early = (HeldPackets){0};
    GstBuffer *packet;
    while ((packet = held_packets_take(&early)) != NULL) gst_pad_chain(pad, packet);
}

// Streaming thread, before decryption.
static GstPadProbeReturn on_protected(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    CTapedeckSourceGuard *guard = user;
    if (atomic_load_explicit(&guard->is_closed, memory_order_relaxed)) return GST_PAD_PROBE_DROP;
    GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
    Header header;
    if (!read_header(packet, &header)) return GST_PAD_PROBE_DROP;
    // The element of a pad that is given a packet lives.
    GstElement *srtpdec = GST_ELEMENT(GST_PAD_PARENT(pad));
    if (!has_key(guard, srtpdec, header.ssrc)) {
        // A peer whose side of the handshake is done sends media: they may overtake the end of the handshake, and
        // continue while that must be sent again.
        held_packets_add(&guard->early, packet, MAXIMUM_EARLY_PACKETS, MAXIMUM_EARLY_BYTES);
        return GST_PAD_PROBE_HANDLED;
    }
    pass_early(guard, pad);
    Known *known = known_of(guard, header.ssrc);
    if (known == NULL && !has_room(guard)) {
        note_refused(guard);
        return GST_PAD_PROBE_DROP;
    }
    if (!header.is_control && !guard->looked_for_session) find_way(guard, srtpdec);
    if (guard->knows_key && !header.is_control) return take_media(guard, info, header, known);
    // With a key of another kind it is still bounded.
    if (known == NULL && guard->knows_key && !is_authentic_control(guard, packet, header.ssrc)) return GST_PAD_PROBE_DROP;
    if (known == NULL) let_in(guard, header.ssrc);
    return GST_PAD_PROBE_OK;
}

// Streaming thread, behind srtpdec.
static GstPadProbeReturn on_media(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    CTapedeckSourceGuard *guard = user;
    GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
    uint8_t header[RTP_FIXED_HEADER_SIZE];
    if (gst_buffer_extract(packet, 0, header, sizeof header) != sizeof header) return GST_PAD_PROBE_DROP;
    Known *known = known_of(guard, GST_READ_UINT32_BE(header + 8));
    if (known == NULL || !may_carry(guard, known, header[1] & 0x7F)) return GST_PAD_PROBE_DROP;
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

static bool may_report(void *guard, uint32_t ssrc) {
    bool may = may_be_named(guard, ssrc);
    if (!may) note_refused(guard);
    return may;
}

static bool may_be_described(void *guard, uint32_t ssrc) { return is_known(guard, ssrc); }

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

static void watch(CTapedeckSourceGuard *guard, GstElement *srtpdec, const char *name, GstPadProbeCallback probe) {
    GstPad *pad = gst_element_get_static_pad(srtpdec, name);
    if (pad == NULL) return;
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, probe, guard_ref(guard), release_guard);
    gst_object_unref(pad);
}

CTapedeckSourceGuard *CTapedeck_source_guard_new(GstElement *srtpdec, uint32_t maximum_sources, bool decrypts,
                                                 CTapedeckSourceCallback callback, void *user, GDestroyNotify release) {
    CTapedeckSourceGuard *guard = g_new0(CTapedeckSourceGuard, 1);
    g_atomic_ref_count_init(&guard->references);
    guard->maximum_sources = maximum_sources;
    if (!decrypts) guard->way = WAY_THROUGH;
    guard->callback = callback;
    guard->user = user;
    guard->release = release;
    guard->known = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    guard->row = g_new0(Known *, maximum_sources);
    // RTCP comes by the pad of RTP: they share a transport.
    watch(guard, srtpdec, "rtp_sink", on_protected);
    watch(guard, srtpdec, "rtcp_sink", on_protected);
    watch(guard, srtpdec, "rtp_src", on_media);
    watch(guard, srtpdec, "rtcp_src", on_control);
    return guard;
}

void CTapedeck_source_guard_close(CTapedeckSourceGuard *guard, GstElement *srtpdec) {
    static const char *const names[] = {"rtp_sink", "rtcp_sink"};
    atomic_store(&guard->is_closed, true);
    for (size_t index = 0; index < G_N_ELEMENTS(names); index++) {
        GstPad *pad = gst_element_get_static_pad(srtpdec, names[index]);
        if (pad == NULL) continue;
        // A thread that pushes a packet holds the lock until the packet is where it ends.
        GST_PAD_STREAM_LOCK(pad);
        GST_PAD_STREAM_UNLOCK(pad);
        gst_object_unref(pad);
    }
}

uint32_t CTapedeck_source_guard_sources(CTapedeckSourceGuard *guard) {
    return atomic_load_explicit(&guard->sources_known, memory_order_relaxed);
}

uint64_t CTapedeck_source_guard_refused(CTapedeckSourceGuard *guard) {
    return atomic_load_explicit(&guard->refused, memory_order_relaxed);
}

size_t CTapedeck_source_guard_counts(CTapedeckSourceGuard *guard, CTapedeckSourceCount *counts, size_t capacity) {
    size_t known = atomic_load_explicit(&guard->sources_known, memory_order_acquire);
    bool has_session = atomic_load_explicit(&guard->has_session, memory_order_relaxed);
    for (size_t place = 0; place < MIN(known, capacity); place++) {
        Known *source = guard->row[place];
        CTapedeckSourceCount count = {.ssrc = source->ssrc};
        uint64_t passed = atomic_load_explicit(&source->passed, memory_order_relaxed);
        count.payload_type_count = atomic_load_explicit(&source->payload_type_count, memory_order_acquire);
        uint64_t packets = 0;
        for (unsigned index = 0; index < count.payload_type_count; index++) {
            count.payload_types[index] = source->payload_types[index];
            count.packets[index] = atomic_load_explicit(&source->packets[index], memory_order_relaxed);
            packets += count.packets[index];
        }
        count.beyond = atomic_load_explicit(&source->beyond, memory_order_relaxed);
        count.kept_back = has_session && packets > passed ? packets - passed : 0;
        counts[place] = count;
    }
    return known;
}

bool CTapedeck_source_guard_goes_through(CTapedeckSourceGuard *guard) {
    return atomic_load(&guard->way) == WAY_THROUGH;
}

uint64_t CTapedeck_source_guard_decrypted(CTapedeckSourceGuard *guard) {
    return atomic_load_explicit(&guard->decrypted, memory_order_relaxed);
}

uint64_t CTapedeck_source_guard_forged(CTapedeckSourceGuard *guard) {
    return atomic_load_explicit(&guard->forged, memory_order_relaxed);
}

uint64_t CTapedeck_forged_packets(void) { return atomic_load_explicit(&all_forged, memory_order_relaxed); }
