// SPDX-License-Identifier: Apache-2.0

#define GST_USE_UNSTABLE_API
#include "CTapedeckObjectCount.h"

#include <gst/gst.h>
#include <gst/gsttracer.h>
#include <malloc.h>
#include <stdatomic.h>

static atomic_int_fast64_t live;

typedef GstTracer ObjectCounter;
typedef GstTracerClass ObjectCounterClass;
G_DEFINE_TYPE(ObjectCounter, CTapedeck_object_counter, GST_TYPE_TRACER)

static void on_created(GstTracer *tracer, GstClockTime time, GstObject *object) {
    (void)tracer, (void)time, (void)object;
    atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
}

static void on_destroyed(GstTracer *tracer, GstClockTime time, GstObject *object) {
    (void)tracer, (void)time, (void)object;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
}

static void CTapedeck_object_counter_class_init(ObjectCounterClass *type) { (void)type; }

static void CTapedeck_object_counter_init(ObjectCounter *counter) {
    gst_tracing_register_hook(counter, "object-created", G_CALLBACK(on_created));
    gst_tracing_register_hook(counter, "object-destroyed", G_CALLBACK(on_destroyed));
}

void CTapedeck_start_counting_objects(void) {
    static gsize started = 0;
    if (!g_once_init_enter(&started)) return;
    // It lives as long as the process: hooks cannot be taken back.
    gst_object_ref_sink(g_object_new(CTapedeck_object_counter_get_type(), NULL));
    g_once_init_leave(&started, 1);
}

int64_t CTapedeck_live_object_count(void) { return atomic_load_explicit(&live, memory_order_relaxed); }

int64_t CTapedeck_allocated_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
}
