// SPDX-License-Identifier: Apache-2.0
//
// The way of received packets through one webrtcbin, and the parts of it that they go around. receive_path.c has the steps in
// their order.
//
//   socket ─► queue ─► srtpdec ─► rtpsession ─► reorder buffer ─► hold ─► tap
//                        known, kept back         dropped, waiting,   waiting,
//                                                 not accepted        not taken

#ifndef CTAPEDECK_RECEIVE_PATH_API_H
#define CTAPEDECK_RECEIVE_PATH_API_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The receiving side of one connection. Reference counted: its owner holds one, and so does each element and probe.
typedef struct CTapedeckReceivePath CTapedeckReceivePath;

typedef struct {
    /// Sources (SSRC) that may send, for as long as the path lives: srtpdec, rtpsession and rtpssrcdemux forget none.
    uint32_t maximum_sources;
    /// How long packets may gather in the kernel; 0 wakes a thread for each.
    uint32_t gather_milliseconds;
    /// Packets of one look at the sockets; 0 for as many as suit floods.
    uint32_t packets_per_look;
    /// Packets go around nothing.
    bool takes_whole_way;
} CTapedeckReceivePathSettings;

/// Reports of a path, each once.
typedef enum {
    /// A packet of a source beyond, or of a payload type beyond, is refused.
    CTAPEDECK_PATH_SOURCE_REFUSED = 1,
    /// A packet that was not made with the key of the handshake is refused.
    CTAPEDECK_PATH_KEY_REFUSED = 2,
    /// Reading the connection's sockets held up other connections.
    CTAPEDECK_PATH_HELD_UP_OTHERS = 3,
} CTapedeckPathEvent;

/// Streaming thread: must not block.
typedef void (*CTapedeckPathCallback)(void *user, CTapedeckPathEvent event);

/// `release` is called with `user` when the last reference is gone.
CTapedeckReceivePath *CTapedeck_receive_path_new(CTapedeckReceivePathSettings settings, CTapedeckPathCallback callback,
                                                 void *user, GDestroyNotify release);
void CTapedeck_receive_path_unref(CTapedeckReceivePath *path);

/// webrtcbin made this element, or has it: the path takes its place in front of it, behind it, or not at all. Before the element
/// gets a packet; any thread.
void CTapedeck_receive_path_met(CTapedeckReceivePath *path, GstElement *element);

/// Lets packets of one payload type of a source go the short way to `pad`, a source pad of webrtcbin that something is linked
/// to. One in 100 ms, and all while any are missing, still take the path through rtpbin, because rtprtxreceive measures time
/// by them. False if a step does not know its surroundings: packets take the whole way there. Control thread.
bool CTapedeck_receive_path_takes(CTapedeckReceivePath *path, GstPad *pad, uint32_t ssrc, uint8_t payload_type);

/// Accepts payload types, a bit each (`low` has 0 to 63, `high` 64 to 127), in addition to those of earlier calls, and no
/// others: their packets are dropped, and are no gap to taps. All are accepted before the first call. Any thread.
void CTapedeck_receive_path_accept(CTapedeckReceivePath *path, uint64_t low, uint64_t high);
/// Lets the reorder buffer of a source ask for missing packets, or not. Once the source has a pad; any thread.
void CTapedeck_receive_path_ask(CTapedeckReceivePath *path, uint32_t ssrc, bool asks);

/// Lets nothing pass any more, waits until what has passed is where it ends, and passes on what waits for missing packets:
/// what comes while elements are stopped would get lost in them. Control thread.
void CTapedeck_receive_path_close(CTapedeckReceivePath *path);

typedef struct {
    /// Packets that were read from the sockets, if packets gather, and how often these were looked at for that.
    uint64_t packets_read;
    uint64_t looks;
    /// Sources that were let in.
    uint32_t sources;
    /// Packets of sources and payload types beyond.
    uint64_t refused;
    /// Packets of media that went around srtpdec.
    uint64_t decrypted;
    /// Packets of media that were not made with the key that the handshake gave (CTapedeck_srtp_receiver_forged). Those of a
    /// source that srtpdec decrypts are not among them: it drops them without a word.
    uint64_t forged;
    /// Whether media go through srtpdec: something else than rtpsession follows it, the key is of another kind, or it was
    /// asked for.
    bool goes_through;
    /// Packets that went around rtpbin behind rtpsession, and those that did not.
    uint64_t short_packets;
    uint64_t long_packets;
} CTapedeckPathCounters;

/// Any thread.
CTapedeckPathCounters CTapedeck_receive_path_counters(CTapedeckReceivePath *path);
/// `forged` of all paths that this process ever had. Any thread.
uint64_t CTapedeck_forged_packets(void);

/// Payload types that a source may have: four codecs and what repairs them. rtpbin has a row of elements for each that comes,
/// whatever was agreed on.
enum { CTAPEDECK_SOURCE_PAYLOAD_TYPES = 8 };

/// Packets of one source.
typedef struct {
    uint32_t ssrc;
    /// Its payload types, and the authentic packets of each that were let in.
    uint8_t payload_types[CTAPEDECK_SOURCE_PAYLOAD_TYPES];
    uint64_t packets[CTAPEDECK_SOURCE_PAYLOAD_TYPES];
    uint32_t payload_type_count;
    /// Authentic packets of payload types beyond those, which were not let in.
    uint64_t beyond;
    /// Packets that rtpsession did not pass on: out of sequence (RFC 3550 appendix A.1).
    uint64_t kept_back;
    /// Packets that came to the source's reorder buffer, and those of them that came over RTX (RFC 4588). Each was dropped, was
    /// not accepted, was not taken, waits, or reached a tap.
    uint64_t entered;
    uint64_t restored;
    /// Packets that the reorder buffer dropped: they came twice or too late, stood alone far from the others, or still waited
    /// when the source's stream ended.
    uint64_t dropped;
    /// Packets that wait for others in the reorder buffer, or for a tap.
    uint64_t waiting;
    /// Packets of payload types that are not accepted.
    uint64_t not_accepted;
    /// Packets that no tap took: there were too many of them before one came, or none ever did.
    uint64_t not_taken;
} CTapedeckSourceCount;

/// Copies the counts of at most `capacity` sources, and returns how many there are. Any thread.
size_t CTapedeck_receive_path_sources(CTapedeckReceivePath *path, CTapedeckSourceCount *counts, size_t capacity);

/// Holds what comes out of a ghost pad, a source, that nothing is linked to yet.
///
/// The thread that pushes does not wait: it is the one that reads the socket, and ICE lives on it. Bounded: what comes on
/// top is dropped.
typedef struct CTapedeckHold CTapedeckHold;

/// Begins to hold; before the pad's first buffer. The caller keeps the pad for as long as it has the hold. `path` counts what
/// is held and dropped for the source `ssrc`; it may be NULL.
CTapedeckHold *CTapedeck_hold_new(GstPad *pad, CTapedeckReceivePath *path, uint32_t ssrc);
/// Links the pad, gives `sink` what was held, in this thread, and lets the data flow. Data that come in between wait.
/// Without `has_tap` all of it is counted as not taken.
GstPadLinkReturn CTapedeck_hold_release(CTapedeckHold *hold, GstPad *sink, bool has_tap);
/// Copies a header extension (RFC 8285), `id` from 1 to 14, of the first held packets that have it; returns its size, 0 if none
/// has it or it is larger than `capacity`.
size_t CTapedeck_hold_extension(CTapedeckHold *hold, uint8_t id, uint8_t *value, size_t capacity);
void CTapedeck_hold_unref(CTapedeckHold *hold);

#endif
