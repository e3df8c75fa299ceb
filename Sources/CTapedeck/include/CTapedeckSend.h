// SPDX-License-Identifier: Apache-2.0
//
// The sending side's work per buffer: one appsink feeds many appsrc (encode once for every peer), and the
// machine-readable test pattern.

#ifndef CTAPEDECK_SEND_H
#define CTAPEDECK_SEND_H

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <stdbool.h>
#include <stdint.h>

/// Copies each buffer of one appsink to every attached appsrc. Thread-safe; reference counted.
typedef struct CTapedeckFanOut CTapedeckFanOut;

/// Counters of one consumer.
typedef struct {
    uint64_t pushed;
    uint64_t dropped;
} CTapedeckConsumerCounters;

/// `keyframes`: the buffers are encoded video, so a consumer starts, and starts again after a drop, at a keyframe.
CTapedeckFanOut *CTapedeck_fan_out_new(bool keyframes);
void CTapedeck_fan_out_unref(CTapedeckFanOut *fan_out);
/// Feeds from `appsink`, whose pipeline has the base time `base_time`. May be called again for the pipeline that
/// follows one that has ended or is to be ignored: consumers stay, and their time stamps continue on the same clock.
/// Raw media that begin before what was delivered are left out.
void CTapedeck_fan_out_attach(CTapedeckFanOut *fan_out, GstElement *appsink, GstClockTime base_time);
/// Adds a consumer whose pipeline has the base time `base_time`; time stamps are moved by the difference. At most
/// `maximum_queued` buffers wait in it; more are dropped and counted. Until it is removed, each keyframe request that a
/// peer's PLI or FIR raises on `pad`, that of `appsrc` (upstream event GstForceKeyUnit), becomes one of this fan-out and
/// stops there. Returns its id, never 0.
uint64_t CTapedeck_fan_out_add(CTapedeckFanOut *fan_out, GstElement *appsrc, GstPad *pad, GstClockTime base_time,
                               uint32_t maximum_queued);
/// After it returned, the appsrc gets no further buffer. An unknown id is ignored. Returns what the consumer got.
CTapedeckConsumerCounters CTapedeck_fan_out_remove(CTapedeckFanOut *fan_out, uint64_t id);
CTapedeckConsumerCounters CTapedeck_fan_out_counters(CTapedeckFanOut *fan_out, uint64_t id);
/// Passes a consumer of raw frames one of `divisor` (1 to 64) from now on. An unknown id is ignored.
void CTapedeck_fan_out_thin(CTapedeckFanOut *fan_out, uint64_t id, uint32_t divisor);
/// Leaves out the frames of a raw consumer for this time from now on, 400 ms at most. An unknown id is ignored.
void CTapedeck_fan_out_hold(CTapedeckFanOut *fan_out, uint64_t id, int64_t nanoseconds);
/// How many consumers there are.
uint32_t CTapedeck_fan_out_consumers(CTapedeckFanOut *fan_out);
/// Buffers that came out of the appsink.
uint64_t CTapedeck_fan_out_count(CTapedeckFanOut *fan_out);
/// Clock time (base time + running time) at which the newest buffer ends; 0 before the first.
GstClockTime CTapedeck_fan_out_end(CTapedeckFanOut *fan_out);
/// Keyframe requests reach the encoder at most once in so long; 200 ms at first, and at least.
void CTapedeck_fan_out_space_keyframes(CTapedeckFanOut *fan_out, int64_t nanoseconds);
/// Asks the encoder in front of the appsink for a keyframe; a request that comes too early after another is kept and
/// sent with the first buffer after that time.
void CTapedeck_fan_out_request_keyframe(CTapedeckFanOut *fan_out);

/// Draws frame counter, checksum, flash and the dark band into every I420 frame that passes `pad`. Layout:
/// Tests/Peers/test-pattern.md. The frame index is the running time times `frames_per_second`, rounded, and the time
/// stamp is moved to that of the index.
void CTapedeck_paint_test_pattern(GstPad *pad, uint32_t frames_per_second);

/// Writes the beep into every S16LE buffer of 48 kHz stereo that passes `pad`: a sine of `hertz` from each full second
/// of running time for one frame's time, silence otherwise. At most 255 frames a second and 65535 Hz. audiotestsrc's own
/// ticks come one buffer early in 1.22.
void CTapedeck_paint_test_sound(GstPad *pad, uint32_t frames_per_second, uint32_t hertz);

#endif
