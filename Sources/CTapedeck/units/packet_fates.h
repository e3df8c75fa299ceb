// SPDX-License-Identifier: Apache-2.0
//
// The fate of each packet that reached a tap. A packet without a fate waits for others of its unit.

#ifndef CTAPEDECK_PACKET_FATES_H
#define CTAPEDECK_PACKET_FATES_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum {
    /// Nothing to record is in it: padding.
    FATE_EMPTY,
    /// It came after packets that were to follow it.
    FATE_LATE,
    /// The first keyframe was still to come.
    FATE_BEFORE_KEYFRAME,
    /// Others of its unit never came.
    FATE_INCOMPLETE,
    /// It, or the unit that it ended, cannot be decoded.
    FATE_UNDECODABLE,
    /// There was no room for its unit, neither before it ended nor in the queue.
    FATE_QUEUE_FULL,
    /// It is in a unit that the queue took.
    FATE_IN_UNIT,
    FATES,
} PacketFate;

/// All zero at first. One thread at a time adds; any thread reads.
typedef struct {
    atomic_uint_fast64_t counts[FATES];
} PacketFates;

static inline void packet_fates_add(PacketFates *fates, PacketFate fate, uint32_t packets) {
    uint_fast64_t before = atomic_load_explicit(&fates->counts[fate], memory_order_relaxed);
    atomic_store_explicit(&fates->counts[fate], before + packets, memory_order_relaxed);
}

enum { PENDING_TIMES = 8 };

/// Packets that were given to elements, which make units of them: the newest RTP times, and how many packets of each are in
/// no unit yet. All zero at first. One thread at a time.
typedef struct {
    struct {
        int64_t time;
        uint32_t packets;
    } rows[PENDING_TIMES];
    // Rows that ever began.
    uint64_t begun;
} PendingPackets;

/// One more packet of the time. The oldest row makes room for a new one: its packets are incomplete.
void pending_packets_add(PendingPackets *pending, int64_t time, PacketFates *fates);
/// The packets of a unit of that time, which are pending no more. Units come in order: packets before it are incomplete.
uint32_t pending_packets_take(PendingPackets *pending, int64_t time, PacketFates *fates);
/// All that are pending get the fate.
void pending_packets_end(PendingPackets *pending, PacketFate fate, PacketFates *fates);

#endif
