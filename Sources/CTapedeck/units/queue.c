// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckReceive.h"

#include <stdatomic.h>
#include <string.h>

#include "CTapedeckReader.h"

// Sources whose share is kept while nothing of them waits.
enum {
    KEPT_SHARES = 64,
    LONGEST_TURN_MICROSECONDS = CTAPEDECK_LONGEST_TURN_MILLISECONDS * 1000,
};

// An item that waits, in the row of all, and in that of its source, which only units have.
typedef struct Node Node;
struct Node {
    CTapedeckItem item;
    Node *before, *after;
    Node *older, *newer;
};

// Waiting items of one source.
typedef struct {
    uint64_t id;
    uint32_t items;
    size_t bytes;
    Node *newest;
    // Units that were replaced by those of others, and that its next unit must report as lost.
    uint32_t evicted;
    // All units that were dropped.
    uint64_t dropped;
    // Packets of units that made place for those of others.
    uint64_t evicted_packets;
    // It sends no more.
    bool is_over;
} Share;

struct CTapedeckBell {
    gatomicrefcount references;
    GMutex mutex;
    GCond rung;
    // Queues that have something for the reader.
    uint32_t news;
    // The reader sleeps: a producer that gives it something must wake it.
    bool is_waiting;
    // CLOCK_MONOTONIC in microseconds when the reader's present turn began; 0 between turns, and once it was reported.
    _Atomic int64_t turn_began;
    CTapedeckHang report;
    void *user;
};

struct CTapedeckQueue {
    gatomicrefcount references;
    GMutex mutex;
    // The bell of its reader, and a separate one for readers of one queue.
    CTapedeckBell *bell, *own_bell;
    // The bell counts it among those that have something.
    bool has_news;
    Node *first, *last;
    uint32_t length;
    // The shares of each source whose units wait or must be reported as lost, and of others that are likely to send.
    GHashTable *shares;
    // Sender reports, and marks, among the items.
    uint32_t reports;
    uint32_t maximum_items;
    size_t maximum_bytes;
    size_t bytes;
    uint64_t dropped;
    bool woken;
};

// A thread that has more to push at once: whose reader is woken when all of it is there.
static _Thread_local struct {
    // Calls of hold_wake without one of release_wake.
    unsigned depth;
    // With a reference; NULL if no reader needs to be woken.
    CTapedeckBell *bell;
} held_wake;

CTapedeckBell *CTapedeck_bell_new(CTapedeckHang report, void *user) {
    CTapedeckBell *bell = g_new0(CTapedeckBell, 1);
    g_atomic_ref_count_init(&bell->references);
    g_mutex_init(&bell->mutex);
    g_cond_init(&bell->rung);
    bell->report = report;
    bell->user = user;
    return bell;
}

CTapedeckBell *CTapedeck_bell_ref(CTapedeckBell *bell) {
    g_atomic_ref_count_inc(&bell->references);
    return bell;
}

void CTapedeck_bell_unref(CTapedeckBell *bell) {
    if (!g_atomic_ref_count_dec(&bell->references)) return;
    g_cond_clear(&bell->rung);
    g_mutex_clear(&bell->mutex);
    g_free(bell);
}

bool CTapedeck_bell_wait(CTapedeckBell *bell, int64_t deadline_microseconds) {
    g_mutex_lock(&bell->mutex);
    while (bell->news == 0) {
        bell->is_waiting = true;
        if (!g_cond_wait_until(&bell->rung, &bell->mutex, deadline_microseconds)) break;
    }
    bell->is_waiting = false;
    bool has_news = bell->news > 0;
    g_mutex_unlock(&bell->mutex);
    return has_news;
}

int64_t CTapedeck_bell_turn_begins(CTapedeckBell *bell) {
    int64_t now = g_get_monotonic_time();
    atomic_store(&bell->turn_began, now);
    return now;
}

bool CTapedeck_bell_turn_ends(CTapedeckBell *bell, int64_t began) {
    bool is_reported = atomic_exchange(&bell->turn_began, 0) == 0;
    return !is_reported && g_get_monotonic_time() - began <= LONGEST_TURN_MICROSECONDS;
}

// No lock held.
static void look_after(CTapedeckBell *bell) {
    int64_t began = atomic_load(&bell->turn_began);
    if (began == 0 || g_get_monotonic_time() - began <= LONGEST_TURN_MICROSECONDS) return;
    if (atomic_compare_exchange_strong(&bell->turn_began, &began, 0)) bell->report(began, bell->user);
}

// Wakes the reader if it sleeps and there is something for it.
static void wake(CTapedeckBell *bell) {
    g_mutex_lock(&bell->mutex);
    bool wakes = bell->is_waiting && bell->news > 0;
    if (wakes) bell->is_waiting = false;
    g_mutex_unlock(&bell->mutex);
    // Unlocked first: a reader that is woken runs at once, and would only wait for the lock again.
    if (wakes) g_cond_signal(&bell->rung);
}

// The same, at once or when the calling thread has no more. No lock held.
static void ring(CTapedeckBell *bell) {
    if (held_wake.depth > 0 && held_wake.bell == NULL) held_wake.bell = CTapedeck_bell_ref(bell);
    if (held_wake.depth > 0 && held_wake.bell == bell) return;
    wake(bell);
    look_after(bell);
}

void CTapedeck_queue_hold_wake(void) { held_wake.depth += 1; }

void CTapedeck_queue_release_wake(void) {
    held_wake.depth -= 1;
    if (held_wake.depth > 0 || held_wake.bell == NULL) return;
    CTapedeckBell *bell = held_wake.bell;
    held_wake.bell = NULL;
    ring(bell);
    CTapedeck_bell_unref(bell);
}

CTapedeckQueue *CTapedeck_queue_new(uint32_t maximum_items, size_t maximum_bytes) {
    CTapedeckQueue *queue = g_new0(CTapedeckQueue, 1);
    g_atomic_ref_count_init(&queue->references);
    g_mutex_init(&queue->mutex);
    queue->own_bell = CTapedeck_bell_new(NULL, NULL);
    queue->bell = CTapedeck_bell_ref(queue->own_bell);
    queue->shares = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    queue->maximum_items = maximum_items;
    queue->maximum_bytes = maximum_bytes;
    return queue;
}

CTapedeckQueue *CTapedeck_queue_ref(CTapedeckQueue *queue) {
    g_atomic_ref_count_inc(&queue->references);
    return queue;
}

// Mutex held, here and in the next two functions.
static void count_news(CTapedeckQueue *queue, bool has_news) {
    if (has_news == queue->has_news) return;
    queue->has_news = has_news;
    g_mutex_lock(&queue->bell->mutex);
    queue->bell->news += has_news ? 1 : -1;
    g_mutex_unlock(&queue->bell->mutex);
}

static void note_news(CTapedeckQueue *queue) { count_news(queue, queue->first != NULL || queue->woken); }

// Unlocks, and has the reader look for what is there.
static void unlock_and_ring(CTapedeckQueue *queue) {
    note_news(queue);
    CTapedeckBell *bell = CTapedeck_bell_ref(queue->bell);
    g_mutex_unlock(&queue->mutex);
    ring(bell);
    CTapedeck_bell_unref(bell);
}

static void free_node(Node *node) {
    if (node->item.buffer != NULL) gst_buffer_unref(node->item.buffer);
    g_free(node);
}

void CTapedeck_queue_unref(CTapedeckQueue *queue) {
    if (!g_atomic_ref_count_dec(&queue->references)) return;
    while (queue->first != NULL) {
        Node *node = queue->first;
        queue->first = node->after;
        free_node(node);
    }
    count_news(queue, false);
    CTapedeck_bell_unref(queue->bell);
    CTapedeck_bell_unref(queue->own_bell);
    g_hash_table_unref(queue->shares);
    g_mutex_clear(&queue->mutex);
    g_free(queue);
}

// The functions up to push: mutex held.

static uint32_t units(const CTapedeckQueue *queue) { return queue->length - queue->reports; }

static Share *share_of(CTapedeckQueue *queue, uint64_t source) {
    Share *share = g_hash_table_lookup(queue->shares, &source);
    if (share == NULL) {
        share = g_new0(Share, 1);
        share->id = source;
        g_hash_table_insert(queue->shares, &share->id, share);
    }
    return share;
}

// Most sources send again at once: they keep their share until there are many, and for as long as they send if units
// were dropped.
static void forget(CTapedeckQueue *queue, Share *share) {
    if (share->items > 0) return;
    bool is_idle = share->evicted == 0 && share->dropped == 0 && g_hash_table_size(queue->shares) > KEPT_SHARES;
    if (share->is_over || is_idle) g_hash_table_remove(queue->shares, &share->id);
}

static void enters(CTapedeckQueue *queue, Node *node, Share *share) {
    node->before = queue->last;
    *(queue->last != NULL ? &queue->last->after : &queue->first) = node;
    queue->last = node;
    queue->length += 1;
    if (share == NULL) {
        queue->reports += 1;
        return;
    }
    node->older = share->newest;
    if (share->newest != NULL) share->newest->newer = node;
    share->newest = node;
    share->items += 1;
    share->bytes += node->item.size;
    queue->bytes += node->item.size;
}

static void leaves(CTapedeckQueue *queue, Node *node) {
    *(node->before != NULL ? &node->before->after : &queue->first) = node->after;
    *(node->after != NULL ? &node->after->before : &queue->last) = node->before;
    queue->length -= 1;
    if (node->item.kind != CTAPEDECK_ITEM_UNIT) {
        queue->reports -= 1;
        return;
    }
    Share *share = share_of(queue, node->item.source);
    if (node->older != NULL) node->older->newer = node->newer;
    *(node->newer != NULL ? &node->newer->older : &share->newest) = node->older;
    share->items -= 1;
    share->bytes -= node->item.size;
    queue->bytes -= node->item.size;
    forget(queue, share);
}

// Drops the newest unit of the source that has most of the exceeded resource. False if no source has more of it than
// `share` would have then. Looks at each source, of which there are few, and at no unit.
static bool make_place(CTapedeckQueue *queue, const Share *share, const CTapedeckItem *item, bool for_bytes) {
    Share *largest = NULL;
    GHashTableIter iterator;
    gpointer value;
    g_hash_table_iter_init(&iterator, queue->shares);
    while (g_hash_table_iter_next(&iterator, NULL, &value)) {
        Share *other = value;
        bool is_larger = largest == NULL || (for_bytes ? other->bytes > largest->bytes : other->items > largest->items);
        if (is_larger) largest = other;
    }
    if (largest == NULL || largest == share) return false;
    if (for_bytes ? largest->bytes <= share->bytes + item->size : largest->items <= share->items + 1) return false;
    Node *victim = largest->newest;
    // Packets lost before it are lost before the next as well.
    largest->evicted += 1 + victim->item.lost_before;
    largest->dropped += 1;
    largest->evicted_packets += victim->item.packets;
    queue->dropped += 1;
    leaves(queue, victim);
    free_node(victim);
    return true;
}

static bool fits(CTapedeckQueue *queue, const CTapedeckItem *item, Share *share) {
    if (item->kind == CTAPEDECK_ITEM_MARK) return true;
    if (share == NULL) return queue->reports < MAX(queue->maximum_items / 16, 16);
    if (item->size > queue->maximum_bytes) return false;
    while (units(queue) >= queue->maximum_items) {
        if (!make_place(queue, share, item, false)) return false;
    }
    while (queue->bytes + item->size > queue->maximum_bytes) {
        if (!make_place(queue, share, item, true)) return false;
    }
    return true;
}

bool CTapedeck_queue_push(CTapedeckQueue *queue, const CTapedeckItem *item) {
    g_mutex_lock(&queue->mutex);
    Share *share = item->kind == CTAPEDECK_ITEM_UNIT ? share_of(queue, item->source) : NULL;
    bool is_taken = fits(queue, item, share);
    if (is_taken) {
        Node *node = g_new0(Node, 1);
        node->item = *item;
        if (item->buffer != NULL) gst_buffer_ref(item->buffer);
        if (share != NULL) {
            node->item.lost_before += share->evicted;
            share->evicted = 0;
        }
        enters(queue, node, share);
    } else {
        queue->dropped += 1;
        if (share != NULL) share->dropped += 1;
    }
    unlock_and_ring(queue);
    return is_taken;
}

void CTapedeck_queue_mark(CTapedeckQueue *queue, uint64_t number) {
    CTapedeckItem item = {
        .kind = CTAPEDECK_ITEM_MARK,
        .source = number,
        .arrival_nanoseconds = CTapedeck_monotonic_nanoseconds(),
    };
    CTapedeck_queue_push(queue, &item);
}

static CTapedeckBell *bell_of(CTapedeckQueue *queue) {
    g_mutex_lock(&queue->mutex);
    CTapedeckBell *bell = CTapedeck_bell_ref(queue->bell);
    g_mutex_unlock(&queue->mutex);
    return bell;
}

void CTapedeck_queue_use_bell(CTapedeckQueue *queue, CTapedeckBell *bell) {
    CTapedeckBell *next = CTapedeck_bell_ref(bell != NULL ? bell : queue->own_bell);
    g_mutex_lock(&queue->mutex);
    CTapedeckBell *last = queue->bell;
    count_news(queue, false);
    queue->bell = next;
    note_news(queue);
    // Reports nothing: the caller may hold a lock that the receiver of a report wants.
    wake(next);
    g_mutex_unlock(&queue->mutex);
    CTapedeck_bell_unref(last);
}

void CTapedeck_queue_look_after_reader(CTapedeckQueue *queue) {
    CTapedeckBell *bell = bell_of(queue);
    look_after(bell);
    CTapedeck_bell_unref(bell);
}

bool CTapedeck_queue_wait(CTapedeckQueue *queue, int64_t deadline_microseconds) {
    CTapedeckBell *bell = bell_of(queue);
    bool has_news = CTapedeck_bell_wait(bell, deadline_microseconds);
    CTapedeck_bell_unref(bell);
    return has_news;
}

bool CTapedeck_queue_has_news(CTapedeckQueue *queue) {
    g_mutex_lock(&queue->mutex);
    bool has_news = queue->has_news;
    g_mutex_unlock(&queue->mutex);
    return has_news;
}

bool CTapedeck_queue_pop(CTapedeckQueue *queue, CTapedeckItem *item) {
    g_mutex_lock(&queue->mutex);
    queue->woken = false;
    Node *first = queue->first;
    if (first != NULL) leaves(queue, first);
    note_news(queue);
    g_mutex_unlock(&queue->mutex);
    if (first == NULL) return false;

    *item = first->item;
    g_free(first);
    if (item->buffer != NULL) {
        if (gst_buffer_map(item->buffer, &item->map, GST_MAP_READ)) {
            item->data = item->map.data;
            item->size = item->map.size;
        } else {
            gst_buffer_unref(item->buffer);
            item->buffer = NULL;
            item->data = NULL;
            item->size = 0;
        }
    }
    return true;
}

void CTapedeck_item_release(CTapedeckItem *item) {
    if (item->buffer == NULL) return;
    gst_buffer_unmap(item->buffer, &item->map);
    gst_buffer_unref(item->buffer);
    item->buffer = NULL;
    item->data = NULL;
}

void CTapedeck_queue_wake(CTapedeckQueue *queue) {
    g_mutex_lock(&queue->mutex);
    queue->woken = true;
    unlock_and_ring(queue);
}

uint64_t CTapedeck_queue_dropped(CTapedeckQueue *queue) {
    g_mutex_lock(&queue->mutex);
    uint64_t dropped = queue->dropped;
    g_mutex_unlock(&queue->mutex);
    return dropped;
}

uint64_t CTapedeck_queue_dropped_of(CTapedeckQueue *queue, uint64_t source, uint64_t *evicted_packets) {
    g_mutex_lock(&queue->mutex);
    const Share *share = g_hash_table_lookup(queue->shares, &source);
    uint64_t dropped = share != NULL ? share->dropped : 0;
    *evicted_packets = share != NULL ? share->evicted_packets : 0;
    g_mutex_unlock(&queue->mutex);
    return dropped;
}

void CTapedeck_queue_leave(CTapedeckQueue *queue, uint64_t source) {
    g_mutex_lock(&queue->mutex);
    Share *share = g_hash_table_lookup(queue->shares, &source);
    if (share != NULL) {
        share->is_over = true;
        forget(queue, share);
    }
    g_mutex_unlock(&queue->mutex);
}
