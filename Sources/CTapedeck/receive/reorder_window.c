// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckReorder.h"

enum {
    // Bounds of what is held while one packet is missing: half a second of 8000 packets a second.
    SMALLEST_CAPACITY = 64,
    LARGEST_CAPACITY = 4096,
    // Packets that are this far behind may be late; further behind, the sender restarted its numbers.
    MAXIMUM_LATENESS = 4096,
    // More missing packets than this are no loss of packets but of the path: what is missing on top is not asked for.
    MAXIMUM_ASKED = 512,
    // As libwebrtc: a sender that does not answer is asked no more.
    MAXIMUM_REQUESTS = 10,
};

// How much later than its follower a packet may come without being asked for.
#define REORDERING ((int64_t)10000000)
// Between two requests, before and after a round trip was measured.
#define FIRST_RETRY ((int64_t)100000000)
#define SHORTEST_RETRY ((int64_t)20000000)
#define LONGEST_RETRY ((int64_t)250000000)

typedef struct {
    // NULL: missing.
    GstBuffer *packet;
    int64_t missing_since;
    int64_t request_at;
    int64_t requested_at;
    uint32_t requests;
    // It is missing, and one of those that are asked for.
    bool is_asked;
} Place;

struct CTapedeckReorderWindow {
    int64_t latency;
    bool has_begun;
    // The sequence number that is to be taken next; its place is `first`.
    uint16_t next;
    // A ring of `capacity` places, a power of two, of which `span` are in use; the last of them holds a packet.
    Place *places;
    uint32_t capacity;
    uint32_t first;
    uint32_t span;
    // Missing packets that are asked for.
    uint32_t asked;
    // No request is due before it.
    int64_t request_at;
    // Where the search for requests that are due continues, and the earliest of those that are not, as far as it came.
    uint32_t searched;
    int64_t earliest;
    // A packet far off, and the sequence number that would confirm it.
    GstBuffer *aside;
    uint16_t aside_sequence;
    // Packets in the places, and aside.
    uint32_t held;
    CTapedeckReorderCounters counters;
};

static Place *place_at(const CTapedeckReorderWindow *window, uint32_t offset) {
    return &window->places[(window->first + offset) & (window->capacity - 1)];
}

CTapedeckReorderWindow *CTapedeck_reorder_window_new(int64_t latency_nanoseconds) {
    CTapedeckReorderWindow *window = g_new0(CTapedeckReorderWindow, 1);
    window->latency = latency_nanoseconds;
    window->request_at = INT64_MAX;
    return window;
}

void CTapedeck_reorder_window_set_latency(CTapedeckReorderWindow *window, int64_t latency_nanoseconds) {
    window->latency = latency_nanoseconds;
}

CTapedeckReorderCounters CTapedeck_reorder_window_counters(const CTapedeckReorderWindow *window) {
    return window->counters;
}

uint32_t CTapedeck_reorder_window_held(const CTapedeckReorderWindow *window) { return window->held; }

uint64_t CTapedeck_reorder_window_dropped(const CTapedeckReorderWindow *window) {
    return window->counters.late + window->counters.duplicates + window->counters.strays + window->counters.cleared;
}

// The packet aside is no beginning: it stood alone.
static void drop_aside(CTapedeckReorderWindow *window) {
    if (window->aside == NULL) return;
    gst_clear_buffer(&window->aside);
    window->counters.strays += 1;
    window->held -= 1;
}

static void release_places(CTapedeckReorderWindow *window) {
    g_clear_pointer(&window->places, g_free);
    window->capacity = 0;
    window->first = 0;
    window->span = 0;
    window->asked = 0;
    window->request_at = INT64_MAX;
}

void CTapedeck_reorder_window_clear(CTapedeckReorderWindow *window) {
    for (uint32_t offset = 0; offset < window->span; offset++) gst_clear_buffer(&place_at(window, offset)->packet);
    release_places(window);
    gst_clear_buffer(&window->aside);
    window->counters.cleared += window->held;
    window->held = 0;
    window->has_begun = false;
}

void CTapedeck_reorder_window_free(CTapedeckReorderWindow *window) {
    CTapedeck_reorder_window_clear(window);
    g_free(window);
}

// Room for `span` places; LARGEST_CAPACITY at most.
static void grow(CTapedeckReorderWindow *window, uint32_t span) {
    if (span <= window->capacity) return;
    uint32_t capacity = MAX(window->capacity, SMALLEST_CAPACITY);
    while (capacity < span) capacity *= 2;
    Place *places = g_new0(Place, capacity);
    for (uint32_t offset = 0; offset < window->span; offset++) places[offset] = *place_at(window, offset);
    g_free(window->places);
    window->places = places;
    window->capacity = capacity;
    window->first = 0;
}

static int64_t retry_interval(const CTapedeckReorderWindow *window) {
    int64_t round_trip = window->counters.round_trip_nanoseconds;
    if (round_trip == 0) return FIRST_RETRY;
    return CLAMP(round_trip + round_trip / 2, SHORTEST_RETRY, LONGEST_RETRY);
}

// It has come, or is no longer awaited.
static void ask_no_more(CTapedeckReorderWindow *window, Place *place) {
    if (place->is_asked) window->asked -= 1;
    place->is_asked = false;
}

// The place was missing, and its packet has come.
static void note_arrival(CTapedeckReorderWindow *window, Place *place, int64_t now) {
    ask_no_more(window, place);
    if (place->requests == 0) return;
    window->counters.repaired += 1;
    // Which of several requests is answered is not to be seen.
    if (place->requests > 1) return;
    int64_t round_trip = MAX(now - place->requested_at, 1);
    int64_t known = window->counters.round_trip_nanoseconds;
    window->counters.round_trip_nanoseconds = known == 0 ? round_trip : (7 * known + round_trip) / 8;
}

// Opens places up to `offset`, all of them missing but the last.
static void open_places(CTapedeckReorderWindow *window, uint32_t offset, int64_t now) {
    uint32_t missing = offset - window->span;
    grow(window, offset + 1);
    bool asks = window->asked + missing <= MAXIMUM_ASKED;
    for (uint32_t at = window->span; at < offset; at++) {
        *place_at(window, at) = (Place){
            .missing_since = now, .request_at = asks ? now + REORDERING : INT64_MAX, .is_asked = asks};
    }
    *place_at(window, offset) = (Place){.missing_since = now, .request_at = INT64_MAX};
    if (asks && missing > 0) {
        window->asked += missing;
        window->request_at = MIN(window->request_at, now + REORDERING);
    }
    window->span = offset + 1;
}

// Whether the missing packets in front were made due, so that there is room soon.
static bool give_up_oldest(CTapedeckReorderWindow *window) {
    if (window->span == 0) return false;
    for (uint32_t offset = 0; offset < window->span && place_at(window, offset)->packet == NULL; offset++) {
        place_at(window, offset)->missing_since = INT64_MIN / 2;
    }
    return true;
}

// A packet far from those before it: the sender restarted its numbers if the next one continues from it.
static CTapedeckPacketFate put_aside(CTapedeckReorderWindow *window, uint16_t sequence, GstBuffer *packet) {
    drop_aside(window);
    window->aside = packet;
    window->held += 1;
    window->aside_sequence = sequence;
    return CTAPEDECK_PACKET_ASIDE;
}

// The sender restarted its numbers: its earlier packets are done with, and the packet aside is the first. Taps see by
// its flag that the numbers between are no loss.
static void begin_anew(CTapedeckReorderWindow *window, int64_t now) {
    GstBuffer *packet = window->aside;
    window->aside = NULL;
    GST_BUFFER_FLAG_SET(packet, GST_BUFFER_FLAG_RESYNC);
    release_places(window);
    window->next = window->aside_sequence;
    open_places(window, 0, now);
    place_at(window, 0)->packet = packet;
}

CTapedeckPacketFate CTapedeck_reorder_window_put(CTapedeckReorderWindow *window, uint16_t sequence, GstBuffer *packet,
                                                 int64_t now) {
    window->searched = 0;
    if (!window->has_begun) {
        window->has_begun = true;
        window->next = sequence;
    }
    int32_t offset = (int16_t)(sequence - window->next);
    bool is_far = offset < -MAXIMUM_LATENESS || offset >= LARGEST_CAPACITY;
    if (is_far && window->aside != NULL && sequence == (uint16_t)(window->aside_sequence + 1)) {
        // First what is held: the caller takes it, and puts this one again.
        if (window->span > 0) {
            give_up_oldest(window);
            return CTAPEDECK_PACKET_NO_ROOM;
        }
        begin_anew(window, now);
        offset = 1;
        is_far = false;
    }
    // A window that is full because one packet is missing for long, at a high rate.
    if (is_far && offset > 0 && offset - (int32_t)window->span < MAXIMUM_ASKED && give_up_oldest(window)) {
        return CTAPEDECK_PACKET_NO_ROOM;
    }
    if (is_far) return put_aside(window, sequence, packet);
    drop_aside(window);
    if (offset < 0) {
        window->counters.late += 1;
        return CTAPEDECK_PACKET_LATE;
    }
    if ((uint32_t)offset < window->span) {
        Place *place = place_at(window, (uint32_t)offset);
        if (place->packet != NULL) {
            window->counters.duplicates += 1;
            return CTAPEDECK_PACKET_DUPLICATE;
        }
        note_arrival(window, place, now);
        place->packet = packet;
        window->held += 1;
        return CTAPEDECK_PACKET_KEPT;
    }
    open_places(window, (uint32_t)offset, now);
    place_at(window, (uint32_t)offset)->packet = packet;
    window->held += 1;
    return CTAPEDECK_PACKET_KEPT;
}

CTapedeckNext CTapedeck_reorder_window_take(CTapedeckReorderWindow *window, int64_t now) {
    CTapedeckNext next = {.kind = CTAPEDECK_NEXT_NOTHING, .sequence = window->next};
    if (window->span == 0) return next;
    Place *place = place_at(window, 0);
    if (place->packet == NULL) {
        if (now - place->missing_since < window->latency) return next;
        next.kind = CTAPEDECK_NEXT_LOSS;
        window->counters.lost += 1;
        ask_no_more(window, place);
    } else {
        next.kind = CTAPEDECK_NEXT_PACKET;
        next.packet = place->packet;
        window->held -= 1;
    }
    window->searched = 0;
    window->next += 1;
    window->first = (window->first + 1) & (window->capacity - 1);
    window->span -= 1;
    // Most of the time nothing is missing: the smallest ring is kept then.
    if (window->span == 0 && window->capacity > SMALLEST_CAPACITY) release_places(window);
    return next;
}

bool CTapedeck_reorder_window_request(CTapedeckReorderWindow *window, int64_t now, CTapedeckRequest *request) {
    if (now < window->request_at) return false;
    if (window->searched == 0) window->earliest = INT64_MAX;
    for (uint32_t offset = window->searched; offset < window->span; offset++) {
        Place *place = place_at(window, offset);
        if (place->packet != NULL) continue;
        if (now < place->request_at) {
            window->earliest = MIN(window->earliest, place->request_at);
            continue;
        }
        *request = (CTapedeckRequest){
            .sequence = (uint16_t)(window->next + offset),
            .requests = place->requests,
            .missing_nanoseconds = now - place->missing_since,
        };
        place->requests += 1;
        place->requested_at = now;
        int64_t again = now + retry_interval(window);
        bool is_last = place->requests >= MAXIMUM_REQUESTS || again - place->missing_since >= window->latency;
        place->request_at = is_last ? INT64_MAX : again;
        window->earliest = MIN(window->earliest, place->request_at);
        window->searched = offset + 1;
        return true;
    }
    window->searched = 0;
    window->request_at = window->earliest;
    return false;
}

int64_t CTapedeck_reorder_window_request_at(const CTapedeckReorderWindow *window) {
    return window->span == 0 ? INT64_MAX : window->request_at;
}

int64_t CTapedeck_reorder_window_deadline(const CTapedeckReorderWindow *window, bool asks) {
    if (window->span == 0) return INT64_MAX;
    const Place *place = place_at(window, 0);
    int64_t given_up = place->packet == NULL ? place->missing_since + window->latency : INT64_MIN;
    return asks ? MIN(given_up, window->request_at) : given_up;
}
