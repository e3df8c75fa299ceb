// SPDX-License-Identifier: Apache-2.0

#include "receive_path.h"

enum { MAXIMUM_STEPS = 32 };

// A step of the way of a packet.
typedef struct {
    // The factory of the element that webrtcbin has there.
    const char *factory;
    // Takes the step's place at the element; NULL for one that another step finds.
    void (*meet)(ReceivePath *path, GstElement *element);
    // Whether packets of a track take the short way here; NULL for a step that has none.
    bool (*takes)(ReceivePath *path, PathTrack *track);
} Step;

// A decoder of redundancy is there in every call, and renumbers packets where it has something to decode, which hides losses.
// webrtcbin lets it pass only for payload types above 0, and only for one of a transceiver.
static void let_pass(ReceivePath *path, GstElement *rtpulpfecdec) {
    (void)path;
    guint payload_type = 0;
    g_object_get(rtpulpfecdec, "pt", &payload_type, NULL);
    if (payload_type == 0) g_object_set(rtpulpfecdec, "passthrough", TRUE, NULL);
}

// Only authentic packets come to it: a source need not send two in order before the first one counts.
static void believe(ReceivePath *path, GstElement *rtpsession) {
    (void)path;
    g_object_set(rtpsession, "probation", 0u, NULL);
}

// The way of a packet, from the socket to the pad of webrtcbin where a tap or a hold takes it.
static const Step steps[] = {
    // The socket: packets gather in the kernel, which stamps them; one thread reads for many connections.
    {"nicesrc", packet_source_meet, packet_source_takes},
    // Between the thread that reads and another one that decrypts: the first does both, around the queue.
    {"queue", receive_queue_meet, receive_queue_takes},
    // The key: what comes before it is kept; so many sources are let in; media are decrypted here, around srtpdec.
    {"srtpdec", source_guard_meet, source_guard_takes},
    // Past reports and feedback, which rtpsession has made: on to the reorder buffer, around what finds it.
    {"rtpsession", believe, session_way_takes},
    // The order of packets, and what is missing; by an exit on to webrtcbin's pad, around what finds that.
    {"rtpbin", reorder_buffers_meet, reorder_buffer_takes},
    // On the long way only.
    {"rtpulpfecdec", let_pass, NULL},
};

static void free_row(gpointer row) { g_free(row); }

CTapedeckReceivePath *CTapedeck_receive_path_new(CTapedeckReceivePathSettings settings, CTapedeckPathCallback callback,
                                                 void *user, GDestroyNotify release) {
    ReceivePath *path = g_new0(ReceivePath, 1);
    g_atomic_ref_count_init(&path->references);
    path->settings = settings;
    path->callback = callback;
    path->user = user;
    path->release = release;
    g_mutex_init(&path->lock);
    g_weak_ref_init(&path->srtpdec, NULL);
    path->sources = g_hash_table_new_full(NULL, NULL, NULL, free_row);
    for (int half = 0; half < 2; half++) atomic_init(&path->accepted[half], UINT64_MAX);
    if (settings.takes_whole_way) atomic_init(&path->way, WAY_THROUGH);
    return path;
}

ReceivePath *receive_path_ref(ReceivePath *path) {
    g_atomic_ref_count_inc(&path->references);
    return path;
}

void CTapedeck_receive_path_unref(CTapedeckReceivePath *path) {
    if (!g_atomic_ref_count_dec(&path->references)) return;
    if (path->release != NULL) path->release(path->user);
    gst_clear_object(&path->queue_downstream);
    g_weak_ref_clear(&path->srtpdec);
    held_packets_clear(&path->early);
    if (path->verifier != NULL) srtp_dealloc(path->verifier);
    if (path->receiver != NULL) CTapedeck_srtp_receiver_free(path->receiver);
    gst_clear_object(&path->session_sink);
    g_hash_table_unref(path->sources);
    g_mutex_clear(&path->lock);
    g_free(path);
}

static void release_path(gpointer path) { CTapedeck_receive_path_unref(path); }

bool receive_path_watch(ReceivePath *path, GstElement *element, const char *name, GstPadProbeCallback probe) {
    GstPad *pad = gst_element_get_static_pad(element, name);
    if (pad == NULL) return false;
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, probe, receive_path_ref(path), release_path);
    gst_object_unref(pad);
    return true;
}

void receive_path_report(ReceivePath *path, CTapedeckPathEvent event) {
    if (path->callback != NULL) path->callback(path->user, event);
}

const char *receive_path_factory(GstElement *element) {
    GstElementFactory *factory = gst_element_get_factory(element);
    return factory != NULL ? GST_OBJECT_NAME(factory) : "";
}

void CTapedeck_receive_path_met(CTapedeckReceivePath *path, GstElement *element) {
    const char *factory = receive_path_factory(element);
    for (size_t index = 0; index < G_N_ELEMENTS(steps); index++) {
        if (steps[index].meet != NULL && g_strcmp0(steps[index].factory, factory) == 0) steps[index].meet(path, element);
    }
}

bool CTapedeck_receive_path_takes(CTapedeckReceivePath *path, GstPad *pad, uint32_t ssrc, uint8_t payload_type) {
    if (path->settings.takes_whole_way) return false;
    PathTrack track = {.pad = pad, .ssrc = ssrc, .payload_type = payload_type};
    bool is_short = true;
    for (size_t index = 0; index < G_N_ELEMENTS(steps); index++) {
        if (steps[index].takes != NULL) is_short = steps[index].takes(path, &track) && is_short;
    }
    gst_clear_object(&track.buffer);
    return is_short;
}

void CTapedeck_receive_path_close(CTapedeckReceivePath *path) {
    source_guard_close(path);
    reorder_buffers_finish(path);
}

bool receive_path_is_ready(GstPad *pad) {
    GstEvent *segment = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
    bool is_ready = segment != NULL;
    gst_clear_event(&segment);
    return is_ready;
}

void receive_path_walk(GstPad *from, bool (*sees)(void *user, GstPad *pad, GstElement *element), void *user) {
    GstPad *at = gst_object_ref(from);
    for (int step = 0; at != NULL && step < MAXIMUM_STEPS; step++) {
        GstObject *parent = gst_pad_get_parent(at);
        GstPad *next = NULL;
        if (GST_IS_GHOST_PAD(at)) {
            next = gst_ghost_pad_get_target(GST_GHOST_PAD(at));
        } else if (parent != NULL && GST_IS_GHOST_PAD(parent)) {
            // The inner end of a bin's wall.
            next = gst_pad_get_peer(GST_PAD(parent));
        } else if (parent != NULL && GST_IS_ELEMENT(parent) && sees(user, at, GST_ELEMENT(parent)) && GST_PAD_IS_SRC(at)) {
            GstPad *sink = gst_element_get_static_pad(GST_ELEMENT(parent), "sink");
            if (sink != NULL) next = gst_pad_get_peer(sink);
            gst_clear_object(&sink);
        }
        gst_clear_object(&parent);
        gst_object_unref(at);
        at = next;
    }
    gst_clear_object(&at);
}

PathSource *receive_path_source(ReceivePath *path, uint32_t ssrc, bool makes_one) {
    g_mutex_lock(&path->lock);
    PathSource *source = g_hash_table_lookup(path->sources, GUINT_TO_POINTER(ssrc));
    if (source == NULL && makes_one) {
        source = g_new0(PathSource, 1);
        source->ssrc = ssrc;
        g_hash_table_insert(path->sources, GUINT_TO_POINTER(ssrc), source);
    }
    g_mutex_unlock(&path->lock);
    return source;
}

void CTapedeck_receive_path_accept(CTapedeckReceivePath *path, uint64_t low, uint64_t high) {
    const uint64_t types[] = {low, high};
    g_mutex_lock(&path->lock);
    for (int half = 0; half < 2; half++) {
        path->agreed[half] |= types[half];
        atomic_store_explicit(&path->accepted[half], path->agreed[half], memory_order_relaxed);
    }
    g_mutex_unlock(&path->lock);
}

bool receive_path_accepts(ReceivePath *path, uint8_t payload_type) {
    return (counter_read(&path->accepted[payload_type / 64]) >> payload_type % 64 & 1) != 0;
}

CTapedeckPathCounters CTapedeck_receive_path_counters(CTapedeckReceivePath *path) {
    // Before the looks: one may come between.
    uint64_t packets_read = atomic_load(&path->packets_read);
    return (CTapedeckPathCounters){
        .packets_read = packets_read,
        .looks = atomic_load(&path->looks),
        .sources = atomic_load_explicit(&path->known_sources, memory_order_relaxed),
        .refused = counter_read(&path->refused),
        .decrypted = counter_read(&path->decrypted),
        .forged = counter_read(&path->forged),
        .goes_through = atomic_load(&path->way) == WAY_THROUGH,
        .short_packets = counter_read(&path->short_packets),
        .long_packets = counter_read(&path->long_packets),
    };
}

// Counters behind rtpsession before those in front of it: a packet under way waits rather than to be missing.
static CTapedeckSourceCount count_of(PathSource *source, bool has_session) {
    CTapedeckSourceCount count = {
        .ssrc = source->ssrc,
        .not_taken = counter_read(&source->not_taken),
        .not_accepted = counter_read(&source->not_accepted),
        .waiting = counter_read(&source->waiting),
        .dropped = counter_read(&source->dropped),
        .restored = counter_read(&source->restored),
        .entered = counter_read(&source->entered),
    };
    uint64_t passed = counter_read(&source->passed);
    uint64_t packets = 0;
    count.payload_type_count = atomic_load_explicit(&source->payload_type_count, memory_order_acquire);
    for (unsigned index = 0; index < count.payload_type_count; index++) {
        count.payload_types[index] = source->payload_types[index];
        count.packets[index] = counter_read(&source->packets[index]);
        packets += count.packets[index];
    }
    count.beyond = counter_read(&source->beyond);
    count.kept_back = has_session && packets > passed ? packets - passed : 0;
    return count;
}

size_t CTapedeck_receive_path_sources(CTapedeckReceivePath *path, CTapedeckSourceCount *counts, size_t capacity) {
    bool has_session = atomic_load_explicit(&path->has_session, memory_order_relaxed);
    GHashTableIter rows;
    gpointer row;
    g_mutex_lock(&path->lock);
    size_t count = g_hash_table_size(path->sources);
    g_hash_table_iter_init(&rows, path->sources);
    for (size_t index = 0; index < capacity && g_hash_table_iter_next(&rows, NULL, &row); index++) {
        counts[index] = count_of(row, has_session);
    }
    g_mutex_unlock(&path->lock);
    return count;
}
