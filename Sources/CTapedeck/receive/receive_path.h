// SPDX-License-Identifier: Apache-2.0
//
// The state of one connection's receiving, which the steps of receive_path.c share.

#ifndef CTAPEDECK_RECEIVE_PATH_H
#define CTAPEDECK_RECEIVE_PATH_H

#include <srtp2/srtp.h>
#include <stdatomic.h>

#include "CTapedeckReceivePath.h"
#include "CTapedeckSRTP.h"
#include "held_packets.h"

/// A source (SSRC). Lives as long as its path: a source that ends and comes again counts on in its row.
typedef struct {
    uint32_t ssrc;
    /// Its reorder buffer while that is open; under the path's lock.
    GstElement *buffer;

    // Up to `passed`: written by the holder of the stream lock of srtpdec's sink; any thread reads the atomic ones.
    bool is_known;
    /// When a packet of it last took the way through rtpbin though it need not have.
    int64_t last_long;
    uint8_t payload_types[CTAPEDECK_SOURCE_PAYLOAD_TYPES];
    /// This many of the payload types are valid.
    atomic_uint payload_type_count;
    atomic_uint_fast64_t packets[CTAPEDECK_SOURCE_PAYLOAD_TYPES];
    /// Packets of other payload types.
    atomic_uint_fast64_t beyond;
    /// Packets that rtpsession gave out.
    atomic_uint_fast64_t passed;

    // Any thread adds: the end of a stream and the beginning of the next one of its source are in two threads.
    atomic_uint_fast64_t entered;
    atomic_uint_fast64_t restored;
    atomic_uint_fast64_t dropped;
    atomic_uint_fast64_t waiting;
    atomic_uint_fast64_t not_accepted;
    atomic_uint_fast64_t not_taken;
} PathSource;

/// The way of media past srtpdec.
typedef enum {
    WAY_UNKNOWN = 0,
    WAY_THROUGH,
    /// Around it, once it has announced the stream to rtpsession.
    WAY_AROUND,
} Way;

typedef struct CTapedeckReceivePath {
    gatomicrefcount references;
    CTapedeckReceivePathSettings settings;
    CTapedeckPathCallback callback;
    void *user;
    GDestroyNotify release;

    /// Held for moments, and never while a packet is passed on.
    GMutex lock;
    /// Rows by SSRC. Under the lock; the rows are not.
    GHashTable *sources;
    /// A bit for each payload type that was agreed on, under the lock, and for each that is accepted.
    uint64_t agreed[2];
    atomic_uint_fast64_t accepted[2];

    // Socket.
    atomic_bool reads_socket;
    /// How often the sockets were looked at, and how many packets that brought.
    atomic_uint_fast64_t looks;
    atomic_uint_fast64_t packets_read;

    // Queue. References only to what is behind it: the probes that use the rest are on its own pads, and go with them.
    atomic_bool bypasses_queue;
    GstElement *queue;
    GstPad *queue_source;
    GstPad *queue_downstream;
    /// Whether the queue has passed anything on: before that, downstream is not ready. Feeding thread only.
    bool queue_has_passed;
    /// Buffers that were put into the queue, and that came out of it.
    atomic_uint_fast64_t queue_entered;
    atomic_uint_fast64_t queue_left;

    // Key.
    GWeakRef srtpdec;
    /// Nothing passes any more, and nothing is counted.
    atomic_bool is_closed;
    atomic_uint known_sources;
    atomic_uint_fast64_t refused;
    atomic_uint_fast64_t decrypted;
    atomic_uint_fast64_t forged;
    /// Written by the holder of the stream lock, as are those up to the end of this paragraph and the next one.
    _Atomic(Way) way;
    /// Whether the peer's key was there, and whether it is of a kind that source_guard.c knows.
    bool has_key;
    bool knows_key;
    /// Packets that came before it.
    HeldPackets early;
    /// Knows the key and no source: for RTCP that comes first.
    srtp_t verifier;
    /// Decrypts media in srtpdec's place.
    CTapedeckSRTPReceiver *receiver;

    // Session.
    bool looked_for_session;
    /// With WAY_AROUND: the sink of rtpsession, a reference, and whether it got the announcement of the stream.
    GstPad *session_sink;
    bool is_session_ready;
    /// The source of the packet that rtpsession has now. Packets that come out of it then are of this source: rtpsession keeps
    /// those of a new source back until it believes in it.
    PathSource *entering;
    /// Whether there is an rtpsession whose packets are counted.
    atomic_bool has_session;
    atomic_uint_fast64_t short_packets;
    atomic_uint_fast64_t long_packets;

    // Order: the rest of what all sources together may ask for; under the lock.
    unsigned requests_left;
    int64_t requests_filled;
} ReceivePath;

/// A track that something was attached to.
typedef struct {
    GstPad *pad;
    uint32_t ssrc;
    uint8_t payload_type;
    /// The reorder buffer on its way, once the step of rtpsession has found it; a reference.
    GstElement *buffer;
} PathTrack;

ReceivePath *receive_path_ref(ReceivePath *path);
/// Lets `probe` see the packets of a pad of an element; it has a reference to the path, its user data, for as long.
bool receive_path_watch(ReceivePath *path, GstElement *element, const char *pad, GstPadProbeCallback probe);
void receive_path_report(ReceivePath *path, CTapedeckPathEvent event);
/// The row of a source; NULL if it has none, unless one shall be made. Locks.
PathSource *receive_path_source(ReceivePath *path, uint32_t ssrc, bool makes_one);
/// Whether packets of the payload type, 0 to 127, are accepted.
bool receive_path_accepts(ReceivePath *path, uint8_t payload_type);
/// The name of the factory that made an element; empty if none did.
const char *receive_path_factory(GstElement *element);

/// Whether a pad got the announcement of the stream, so that a packet may be given to it.
bool receive_path_is_ready(GstPad *pad);

/// Walks against the flow from a source pad, over elements with one sink and through walls of bins, and calls `sees` for each
/// element with the pad at which it was reached, until that returns false. From a sink pad it walks with the flow, as far as the
/// first element.
void receive_path_walk(GstPad *from, bool (*sees)(void *user, GstPad *pad, GstElement *element), void *user);

/// Adds to a counter that any thread adds to; what is negative wraps and so subtracts.
static inline void counter_add(atomic_uint_fast64_t *counter, uint64_t more) {
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/// Adds to a counter that one thread adds to.
static inline void counter_add_alone(atomic_uint_fast64_t *counter, uint64_t more) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more, memory_order_relaxed);
}

static inline uint64_t counter_read(atomic_uint_fast64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

// The steps, each in its file: `meet` takes its place at an element that webrtcbin made, `takes` says whether the packets of a
// track go its short way.

void packet_source_meet(ReceivePath *path, GstElement *nicesrc);
bool packet_source_takes(ReceivePath *path, PathTrack *track);
void receive_queue_meet(ReceivePath *path, GstElement *queue);
bool receive_queue_takes(ReceivePath *path, PathTrack *track);
void source_guard_meet(ReceivePath *path, GstElement *srtpdec);
bool source_guard_takes(ReceivePath *path, PathTrack *track);
void reorder_buffers_meet(ReceivePath *path, GstElement *rtpbin);
bool session_way_takes(ReceivePath *path, PathTrack *track);
bool reorder_buffer_takes(ReceivePath *path, PathTrack *track);

/// Lets nothing into srtpdec any more, and waits until what is on its way has come to its end.
void source_guard_close(ReceivePath *path);
/// Passes on what waits in the reorder buffers, in this thread.
void reorder_buffers_finish(ReceivePath *path);
/// Streaming thread, with media for srtpdec: looks for rtpsession, and counts what it gives out from then on, once something is
/// linked to srtpdec. Returns the sink of rtpsession, the caller's; NULL if something else follows.
GstPad *session_way_find(ReceivePath *path, GstElement *srtpdec);

#endif
