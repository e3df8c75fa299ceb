// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckReceive.h"

#include <string.h>

// Sources whose share is kept while nothing of them waits.
enum { KEPT_SHARES = 64 };

// What of one source waits.
typedef struct {
    uint64_t id;
    uint32_t items;
    size_t bytes;
    // Units that made place for those of others, and that its next unit has to tell as lost.
    uint32_t evicted;
} Share;

struct CTapedeckQueue {
    gatomicrefcount references;
    GMutex mutex;
    GCond changed;
    GQueue items;
    // Of each source of which units wait, or have to be told as lost, and of others that are likely to send.
    GHashTable *shares;
    // Sender reports among the items.
    uint32_t reports;
    uint32_t maximum_items;
    size_t maximum_bytes;
    size_t bytes;
    uint64_t dropped;
    bool woken;
    // The reader sleeps: whoever gives it something has to wake it.
    bool is_waiting;
};

CTapedeckQueue *CTapedeck_queue_new(uint32_t maximum_items, size_t maximum_bytes) {
    CTapedeckQueue *queue = g_new0(CTapedeckQueue, 1);
    g_atomic_ref_count_init(&queue->references);
    g_mutex_init(&queue->mutex);
    g_cond_init(&queue->changed);
    g_queue_init(&queue->items);
    queue->shares = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    queue->maximum_items = maximum_items;
    queue->maximum_bytes = maximum_bytes;
    return queue;
}

// Unlocks first: a reader that is woken runs at once, and would only wait for the lock again.
static void unlock_and_wake(CTapedeckQueue *queue) {
    bool is_waiting = queue->is_waiting;
    queue->is_waiting = false;
    g_mutex_unlock(&queue->mutex);
    if (is_waiting) g_cond_signal(&queue->changed);
}

CTapedeckQueue *CTapedeck_queue_ref(CTapedeckQueue *queue) {
    g_atomic_ref_count_inc(&queue->references);
    return queue;
}

static void free_item(gpointer pointer) {
    CTapedeckItem *item = pointer;
    if (item->buffer != NULL) gst_buffer_unref(item->buffer);
    g_free(item);
}

void CTapedeck_queue_unref(CTapedeckQueue *queue) {
    if (!g_atomic_ref_count_dec(&queue->references)) return;
    g_queue_clear_full(&queue->items, free_item);
    g_hash_table_unref(queue->shares);
    g_cond_clear(&queue->changed);
    g_mutex_clear(&queue->mutex);
    g_free(queue);
}

// The functions up to push: mutex held.

static uint32_t units(const CTapedeckQueue *queue) { return queue->items.length - queue->reports; }

static Share *share_of(CTapedeckQueue *queue, uint64_t source) {
    Share *share = g_hash_table_lookup(queue->shares, &source);
    if (share == NULL) {
        share = g_new0(Share, 1);
        share->id = source;
        g_hash_table_insert(queue->shares, &share->id, share);
    }
    return share;
}

// Most sources send again at once: they keep their share until there are many.
static void forget(CTapedeckQueue *queue, Share *share) {
    bool is_idle = share->items == 0 && share->evicted == 0;
    if (is_idle && g_hash_table_size(queue->shares) > KEPT_SHARES) g_hash_table_remove(queue->shares, &share->id);
}

static void leaves(CTapedeckQueue *queue, const CTapedeckItem *item) {
    if (item->kind != CTAPEDECK_ITEM_UNIT) {
        queue->reports -= 1;
        return;
    }
    Share *share = share_of(queue, item->source);
    share->items -= 1;
    share->bytes -= item->size;
    queue->bytes -= item->size;
    forget(queue, share);
}

// Drops the newest unit of the source that has most of what there is too much of. False if no source has more of it than
// `share` would have then.
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
    for (GList *link = queue->items.tail; link != NULL; link = link->prev) {
        CTapedeckItem *victim = link->data;
        if (victim->kind != CTAPEDECK_ITEM_UNIT || victim->source != largest->id) continue;
        // What was lost before it is lost before the next as well.
        largest->evicted += 1 + victim->lost_before;
        leaves(queue, victim);
        g_queue_delete_link(&queue->items, link);
        free_item(victim);
        queue->dropped += 1;
        return true;
    }
    return false;
}

static bool fits(CTapedeckQueue *queue, const CTapedeckItem *item, Share *share) {
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
        CTapedeckItem *copy = g_new(CTapedeckItem, 1);
        *copy = *item;
        if (copy->buffer != NULL) gst_buffer_ref(copy->buffer);
        if (share != NULL) {
            copy->lost_before += share->evicted;
            share->evicted = 0;
            share->items += 1;
            share->bytes += copy->size;
            queue->bytes += copy->size;
        } else {
            queue->reports += 1;
        }
        g_queue_push_tail(&queue->items, copy);
        unlock_and_wake(queue);
    } else {
        queue->dropped += 1;
        if (share != NULL) forget(queue, share);
        g_mutex_unlock(&queue->mutex);
    }
    return is_taken;
}

bool CTapedeck_queue_pop(CTapedeckQueue *queue, CTapedeckItem *item, int64_t timeout_microseconds) {
    int64_t deadline = g_get_monotonic_time() + timeout_microseconds;
    g_mutex_lock(&queue->mutex);
    while (queue->items.length == 0 && !queue->woken) {
        queue->is_waiting = true;
        if (!g_cond_wait_until(&queue->changed, &queue->mutex, deadline)) break;
    }
    queue->is_waiting = false;
    queue->woken = false;
    CTapedeckItem *first = g_queue_pop_head(&queue->items);
    if (first != NULL) leaves(queue, first);
    g_mutex_unlock(&queue->mutex);
    if (first == NULL) return false;

    *item = *first;
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
    unlock_and_wake(queue);
}

uint64_t CTapedeck_queue_dropped(CTapedeckQueue *queue) {
    g_mutex_lock(&queue->mutex);
    uint64_t dropped = queue->dropped;
    g_mutex_unlock(&queue->mutex);
    return dropped;
}
