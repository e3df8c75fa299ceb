// SPDX-License-Identifier: Apache-2.0

#include "packet_fates.h"

static uint32_t place_of(uint64_t number) { return (uint32_t)(number % PENDING_TIMES); }

static uint64_t oldest(const PendingPackets *pending) {
    return pending->begun > PENDING_TIMES ? pending->begun - PENDING_TIMES : 0;
}

static void end_row(PendingPackets *pending, uint64_t number, PacketFate fate, PacketFates *fates) {
    uint32_t place = place_of(number);
    if (pending->rows[place].packets > 0) packet_fates_add(fates, fate, pending->rows[place].packets);
    pending->rows[place].packets = 0;
}

void pending_packets_add(PendingPackets *pending, int64_t time, PacketFates *fates) {
    if (pending->begun == 0 || pending->rows[place_of(pending->begun - 1)].time != time) {
        if (pending->begun >= PENDING_TIMES) end_row(pending, pending->begun - PENDING_TIMES, FATE_INCOMPLETE, fates);
        pending->rows[place_of(pending->begun)].time = time;
        pending->begun += 1;
    }
    pending->rows[place_of(pending->begun - 1)].packets += 1;
}

uint32_t pending_packets_take(PendingPackets *pending, int64_t time, PacketFates *fates) {
    uint64_t end = pending->begun;
    while (end > oldest(pending) && pending->rows[place_of(end - 1)].time != time) end -= 1;
    if (end == oldest(pending)) return 0;
    for (uint64_t number = oldest(pending); number < end - 1; number++) {
        end_row(pending, number, FATE_INCOMPLETE, fates);
    }
    uint32_t packets = pending->rows[place_of(end - 1)].packets;
    pending->rows[place_of(end - 1)].packets = 0;
    return packets;
}

void pending_packets_end(PendingPackets *pending, PacketFate fate, PacketFates *fates) {
    for (uint64_t number = oldest(pending); number < pending->begun; number++) end_row(pending, number, fate, fates);
}
