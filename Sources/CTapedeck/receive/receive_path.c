// SPDX-License-Identifier: Apache-2.0
//
// The way of a packet through rtpbin, made shorter: what it does for each packet between rtpsession and the reorder buffer,
// and behind it, is to find out where the packet belongs, which is known after the first one.
//
//   rtpsession ─┬► rtprtxreceive ► rtpstorage ► rtpssrcdemux ─┬► reorder buffer ─┬► rtpptdemux ► ghost pads ─┬► pad
//               └─────────────────────────────────────────────┘                  └───────────────────────────┘

#include "receive_path.h"

#include <stdatomic.h>

#include "CTapedeckReceive.h"
#include "reorder_buffer.h"

enum {
    MAXIMUM_STEPS = 32,
    // As many as rtpssrcdemux makes streams of; the rest takes the long way.
    MAXIMUM_PLACES = 320,
};

// rtprtxreceive forgets requests by the times of the packets that it sees, one second after they were made.
static const int64_t LONG_WAY_NANOSECONDS = 100000000;

// A source with a consumer.
typedef struct {
    GstElement *buffer;
    int64_t last_long;
} Place;

// Where rtpsession gives out packets. Lives with the pad.
typedef struct {
    // Held for moments.
    GMutex lock;
    // Places by SSRC.
    GHashTable *places;
} Entrance;

static atomic_uint_fast64_t short_packets;
static atomic_uint_fast64_t long_packets;

static void free_place(gpointer user) {
    Place *place = user;
    gst_object_unref(place->buffer);
    g_free(place);
}

static void free_entrance(gpointer user) {
    Entrance *entrance = user;
    g_hash_table_unref(entrance->places);
    g_mutex_clear(&entrance->lock);
    g_free(entrance);
}

// The reorder buffer that may get the packet, referenced; NULL if it must take the long way.
static GstElement *buffer_for(Entrance *entrance, uint32_t ssrc, uint8_t payload_type, int64_t now) {
    GstElement *buffer = NULL;
    g_mutex_lock(&entrance->lock);
    Place *place = g_hash_table_lookup(entrance->places, GUINT_TO_POINTER(ssrc));
    if (place != NULL && reorder_buffer_has_exit(place->buffer, payload_type)) {
        if (now - place->last_long >= LONG_WAY_NANOSECONDS || !reorder_buffer_is_whole(place->buffer)) {
            place->last_long = now;
        } else {
            buffer = gst_object_ref(place->buffer);
        }
    }
    g_mutex_unlock(&entrance->lock);
    return buffer;
}

// Streaming thread, behind rtpsession.
static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
    uint8_t header[12];
    GstElement *buffer = NULL;
    if (gst_buffer_extract(packet, 0, header, sizeof header) == sizeof header) {
        uint32_t ssrc = GST_READ_UINT32_BE(header + 8);
        buffer = buffer_for(user, ssrc, header[1] & 0x7F, CTapedeck_monotonic_nanoseconds());
    }
    if (buffer == NULL) {
        atomic_fetch_add_explicit(&long_packets, 1, memory_order_relaxed);
        return GST_PAD_PROBE_OK;
    }
    atomic_fetch_add_explicit(&short_packets, 1, memory_order_relaxed);
    // An error would stop every track of the connection; one that stays is met by what takes the long way.
    gst_pad_chain(reorder_buffer_sink(buffer), packet);
    gst_object_unref(buffer);
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_OK;
    return GST_PAD_PROBE_HANDLED;
}

GstPad *receive_path_step_up(GstPad *pad, GstElement **element) {
    *element = NULL;
    if (GST_IS_GHOST_PAD(pad)) return gst_ghost_pad_get_target(GST_GHOST_PAD(pad));
    GstObject *parent = gst_pad_get_parent(pad);
    GstPad *above = NULL;
    if (parent != NULL && GST_IS_GHOST_PAD(parent)) {
        // The inner end of a bin's sink.
        above = gst_pad_get_peer(GST_PAD(parent));
    } else if (parent != NULL && GST_IS_ELEMENT(parent)) {
        *element = gst_object_ref(GST_ELEMENT(parent));
        GstPad *sink = gst_element_get_static_pad(*element, "sink");
        if (sink != NULL) above = gst_pad_get_peer(sink);
        gst_clear_object(&sink);
    }
    gst_clear_object(&parent);
    return above;
}

static bool is_made_by(GstElement *element, const char *const *names) {
    GstElementFactory *factory = gst_element_get_factory(element);
    return factory != NULL && g_strv_contains(names, GST_OBJECT_NAME(factory));
}

// Whether the element passes on packets of a stream and a payload type that it knows, and does nothing else to them. A
// decoder of redundancy is there in every call, and renumbers packets where it has something to decode.
static bool only_passes(GstElement *element) {
    static const char *const passing[] = {"rtpptdemux", "rtpssrcdemux", "rtpstorage", "rtprtxreceive", "rtpreddec", NULL};
    static const char *const decoding[] = {"rtpulpfecdec", NULL};
    if (is_made_by(element, passing)) return true;
    if (!is_made_by(element, decoding)) return false;
    gboolean passes = FALSE;
    g_object_get(element, "passthrough", &passes, NULL);
    return passes;
}

// The source pad of rtpsession that the packets of `pad` come from, and the reorder buffer on their way, which both are the
// caller's. False if something is on the way that does more than to pass on the packets of a stream that it knows.
static bool find_way(GstPad *pad, GstPad **session_pad, GstElement **buffer) {
    static const char *const session[] = {"rtpsession", NULL};
    GstPad *at = gst_object_ref(pad);
    for (int step = 0; at != NULL && step < MAXIMUM_STEPS; step++) {
        GstElement *element;
        GstPad *above = receive_path_step_up(at, &element);
        bool is_known = true;
        if (element != NULL && is_made_by(element, session)) {
            // Its sink has another name: nothing is above.
            *session_pad = gst_object_ref(at);
        } else if (element != NULL && *buffer == NULL && reorder_buffer_sink(element) != NULL) {
            *buffer = gst_object_ref(element);
        } else if (element != NULL) {
            is_known = only_passes(element);
        }
        gst_clear_object(&element);
        gst_object_unref(at);
        at = above;
        if (!is_known || *session_pad != NULL) break;
    }
    gst_clear_object(&at);
    return *session_pad != NULL && *buffer != NULL;
}

static gboolean is_closed(gpointer ssrc, gpointer place, gpointer user) {
    (void)ssrc;
    (void)user;
    return !reorder_buffer_is_open(((Place *)place)->buffer);
}

static bool enter(GstPad *session_pad, uint32_t ssrc, GstElement *buffer) {
    Entrance *entrance = g_object_get_data(G_OBJECT(session_pad), "tapedeck-entrance");
    if (entrance == NULL) {
        entrance = g_new0(Entrance, 1);
        g_mutex_init(&entrance->lock);
        entrance->places = g_hash_table_new_full(NULL, NULL, NULL, free_place);
        g_object_set_data(G_OBJECT(session_pad), "tapedeck-entrance", entrance);
        gst_pad_add_probe(session_pad, GST_PAD_PROBE_TYPE_BUFFER, on_packet, entrance, free_entrance);
    }
    g_mutex_lock(&entrance->lock);
    g_hash_table_foreach_remove(entrance->places, is_closed, NULL);
    Place *place = g_hash_table_lookup(entrance->places, GUINT_TO_POINTER(ssrc));
    if (place == NULL && g_hash_table_size(entrance->places) < MAXIMUM_PLACES) {
        place = g_new0(Place, 1);
        place->buffer = gst_object_ref(buffer);
        g_hash_table_insert(entrance->places, GUINT_TO_POINTER(ssrc), place);
    }
    bool has_entered = place != NULL && place->buffer == buffer;
    g_mutex_unlock(&entrance->lock);
    return has_entered;
}

bool CTapedeck_shorten_receive_path(GstPad *pad, uint32_t ssrc, uint8_t payload_type) {
    GstPad *session_pad = NULL;
    GstElement *buffer = NULL;
    bool is_shorter = find_way(pad, &session_pad, &buffer) && enter(session_pad, ssrc, buffer) &&
                      reorder_buffer_add_exit(buffer, payload_type, pad);
    gst_clear_object(&session_pad);
    gst_clear_object(&buffer);
    return is_shorter;
}

CTapedeckPathCounters CTapedeck_path_counters(void) {
    return (CTapedeckPathCounters){
        .short_packets = atomic_load_explicit(&short_packets, memory_order_relaxed),
        .long_packets = atomic_load_explicit(&long_packets, memory_order_relaxed),
    };
}
