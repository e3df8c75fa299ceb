// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckReceive.h"

#include <string.h>

struct CTapedeckQueue {
    gatomicrefcount references;
    GMutex mutex;
    GCond changed;
    GQueue items;
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
    g_cond_clear(&queue->changed);
    g_mutex_clear(&queue->mutex);
    g_free(queue);
}

bool CTapedeck_queue_push(CTapedeckQueue *queue, const CTapedeckItem *item) {
    g_mutex_lock(&queue->mutex);
    // A sender report is small and rare: it may exceed the limits by as many as there are units.
    uint32_t limit = item->kind == CTAPEDECK_ITEM_UNIT ? queue->maximum_items : queue->maximum_items * 2;
    bool fits = queue->items.length < limit && queue->bytes + item->size <= queue->maximum_bytes;
    if (fits) {
        CTapedeckItem *copy = g_new(CTapedeckItem, 1);
        *copy = *item;
        if (copy->buffer != NULL) gst_buffer_ref(copy->buffer);
        g_queue_push_tail(&queue->items, copy);
        queue->bytes += copy->size;
        unlock_and_wake(queue);
    } else {
        queue->dropped += 1;
        g_mutex_unlock(&queue->mutex);
    }
    return fits;
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
    if (first != NULL) queue->bytes -= first->size;
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
