// SPDX-License-Identifier: Apache-2.0

#include "sound_meter.h"

#include <gst/gst.h>
#include <math.h>

#include "CTapedeckReceive.h"

// A level is that of a whole second, and forgotten when the audio has stopped for two.
static const int64_t WINDOW_NANOSECONDS = 1000000000, MEMORY_NANOSECONDS = 2000000000;
// -60 dBov: a thousandth of full scale. Softer is silence: microphones hum at about that.
static const uint64_t SILENT_MEAN_SQUARE = 1074;

void sound_meter_note(SoundMeter *meter, uint64_t squares, uint64_t samples, int64_t now) {
    if (samples == 0) return;
    if (atomic_load_explicit(&meter->last_sound, memory_order_relaxed) == 0 ||
        squares / samples > SILENT_MEAN_SQUARE) {
        atomic_store_explicit(&meter->last_sound, now, memory_order_relaxed);
    }
    // Audio before a pause is no part of the second after it.
    if (meter->since == 0 || now - meter->since > MEMORY_NANOSECONDS) {
        meter->squares = meter->samples = 0;
        meter->since = now;
    }
    meter->squares += squares;
    meter->samples += samples;
    if (now - meter->since < WINDOW_NANOSECONDS) return;
    atomic_store_explicit(&meter->mean_square, (int64_t)(meter->squares / meter->samples), memory_order_relaxed);
    atomic_store_explicit(&meter->measured_at, now, memory_order_relaxed);
    meter->squares = meter->samples = 0;
    meter->since = now;
}

void sound_meter_note_level(SoundMeter *meter, uint8_t level, int64_t now) {
    double square = ldexp(pow(10, -(double)(level & 127) / 10), SOUND_METER_FULL_SCALE_BITS);
    sound_meter_note(meter, (uint64_t)square, 1, now);
}

CTapedeckSoundLevel sound_meter_read(const SoundMeter *meter, int64_t now) {
    int64_t measured_at = atomic_load_explicit(&meter->measured_at, memory_order_relaxed);
    int64_t last_sound = atomic_load_explicit(&meter->last_sound, memory_order_relaxed);
    int64_t mean_square = atomic_load_explicit(&meter->mean_square, memory_order_relaxed);
    double level = mean_square > 0 ? 10 * log10(ldexp((double)mean_square, -SOUND_METER_FULL_SCALE_BITS)) : -127;
    return (CTapedeckSoundLevel){
        .is_known = last_sound != 0,
        .is_measured = measured_at != 0 && now - measured_at < MEMORY_NANOSECONDS,
        .decibels = level,
        .silent_nanoseconds = last_sound != 0 ? MAX(0, now - last_sound) : 0,
    };
}

struct CTapedeckSoundMeter {
    gatomicrefcount references;
    SoundMeter meter;
};

CTapedeckSoundMeter *CTapedeck_sound_meter_new(void) {
    CTapedeckSoundMeter *meter = g_new0(CTapedeckSoundMeter, 1);
    g_atomic_ref_count_init(&meter->references);
    return meter;
}

void CTapedeck_sound_meter_unref(CTapedeckSoundMeter *meter) {
    if (g_atomic_ref_count_dec(&meter->references)) g_free(meter);
}

static void release_meter(gpointer meter) { CTapedeck_sound_meter_unref(meter); }

// Streaming thread of the encoder. Reads the buffer; never blocks.
static GstPadProbeReturn on_sound(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    CTapedeckSoundMeter *meter = user;
    GstMapInfo map;
    if (!gst_buffer_map(GST_PAD_PROBE_INFO_BUFFER(info), &map, GST_MAP_READ)) return GST_PAD_PROBE_OK;
    const int16_t *samples = (const int16_t *)map.data;
    size_t count = map.size / sizeof(int16_t);
    uint64_t squares = 0;
    for (size_t i = 0; i < count; i++) squares += (uint64_t)((int32_t)samples[i] * samples[i]);
    gst_buffer_unmap(GST_PAD_PROBE_INFO_BUFFER(info), &map);
    sound_meter_note(&meter->meter, squares, count, CTapedeck_monotonic_nanoseconds());
    return GST_PAD_PROBE_OK;
}

void CTapedeck_sound_meter_attach(CTapedeckSoundMeter *meter, GstPad *pad) {
    g_atomic_ref_count_inc(&meter->references);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_sound, meter, release_meter);
}

CTapedeckSoundLevel CTapedeck_sound_meter_read(CTapedeckSoundMeter *meter) {
    return sound_meter_read(&meter->meter, CTapedeck_monotonic_nanoseconds());
}
