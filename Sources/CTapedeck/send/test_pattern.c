// SPDX-License-Identifier: Apache-2.0

#include <gst/video/video.h>
#include <math.h>
#include <string.h>

#include "CTapedeckSend.h"
#include "offline/canvas.h"

// Luma of limited range (ITU-R BT.709). Layout: Tests/Peers/test-pattern.md, in coordinates of 1280x720.
enum { WHITE = 235, BLACK = 16, GREY = 48, NEUTRAL_CHROMA = 128 };
enum { REFERENCE_WIDTH = 1280, REFERENCE_HEIGHT = 720 };
enum { CELL = 32, STRIP_X = 16, STRIP_Y = 16, BAND_HEIGHT = 64, COUNTER_BITS = 24, CHECKSUM_BITS = 6 };

static void fill(GstVideoFrame *frame, int x0, int y0, int x1, int y1, uint8_t luma) {
    int width = GST_VIDEO_FRAME_WIDTH(frame), height = GST_VIDEO_FRAME_HEIGHT(frame);
    int left = x0 * width / REFERENCE_WIDTH, right = x1 * width / REFERENCE_WIDTH;
    int top = y0 * height / REFERENCE_HEIGHT, bottom = y1 * height / REFERENCE_HEIGHT;
    for (int plane = 0; plane < 3; plane++) {
        int shift = plane == 0 ? 0 : 1;
        uint8_t value = plane == 0 ? luma : NEUTRAL_CHROMA;
        int stride = GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane);
        uint8_t *row = (uint8_t *)GST_VIDEO_FRAME_PLANE_DATA(frame, plane) + (top >> shift) * stride;
        for (int y = top >> shift; y < bottom >> shift; y++, row += stride) {
            memset(row + (left >> shift), value, (size_t)((right >> shift) - (left >> shift)));
        }
    }
}

static uint32_t checksum(uint32_t counter) {
    return ((counter >> 18 & 63) + (counter >> 12 & 63) + (counter >> 6 & 63) + (counter & 63) + 21) & 63;
}

static void paint(GstVideoFrame *frame, uint64_t index, uint32_t frames_per_second) {
    uint32_t counter = (uint32_t)(index & ((1u << COUNTER_BITS) - 1));
    // White, black, counter, checksum: 32 bits, most significant first.
    uint32_t cells = 1u << 31 | counter << CHECKSUM_BITS | checksum(counter);
    fill(frame, 0, 0, REFERENCE_WIDTH, BAND_HEIGHT, GREY);
    for (int i = 0; i < 32; i++) {
        uint8_t luma = cells >> (31 - i) & 1 ? WHITE : BLACK;
        fill(frame, STRIP_X + CELL * i, STRIP_Y, STRIP_X + CELL * (i + 1), STRIP_Y + CELL, luma);
    }
    fill(frame, 320, 240, 960, 480, index % frames_per_second == 0 ? WHITE : GREY);
}

// Streaming thread of the capture pipeline. Owns the buffer in `info` while it runs.
static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    uint32_t frames_per_second = GPOINTER_TO_UINT(user);
    GstBuffer *buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
    info->data = buffer;
    GstCaps *caps = gst_pad_get_current_caps(pad);
    GstVideoInfo video;
    GstVideoFrame frame;
    if (caps != NULL && gst_video_info_from_caps(&video, caps) && GST_BUFFER_PTS_IS_VALID(buffer) &&
        GST_VIDEO_INFO_FORMAT(&video) == GST_VIDEO_FORMAT_I420 &&
        gst_video_frame_map(&frame, &video, buffer, GST_MAP_READWRITE)) {
        uint64_t index = gst_util_uint64_scale_round(GST_BUFFER_PTS(buffer), frames_per_second, GST_SECOND);
        paint(&frame, index, frames_per_second);
        gst_video_frame_unmap(&frame);
        // A live source begins anywhere between two instants of the grid, which would separate flashes from their
        // beeps.
        GST_BUFFER_PTS(buffer) = gst_util_uint64_scale_round(index, GST_SECOND, frames_per_second);
    }
    if (caps != NULL) gst_caps_unref(caps);
    return GST_PAD_PROBE_OK;
}

void CTapedeck_paint_test_pattern(GstPad *pad, uint32_t frames_per_second) {
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, GUINT_TO_POINTER(frames_per_second), NULL);
}

// Below, the sync cells are no black and white; above, the rectangle is white.
enum { MINIMUM_CONTRAST = 60, FLASH_LEVEL = 140 };

/// Mean luma of a rectangle without a quarter of it on each side, in 1/16.
static int middle_mean(const GstVideoFrame *frame, int x0, int y0, int x1, int y1) {
    int width = GST_VIDEO_FRAME_WIDTH(frame), height = GST_VIDEO_FRAME_HEIGHT(frame);
    int left = x0 * width / REFERENCE_WIDTH, right = x1 * width / REFERENCE_WIDTH;
    int top = y0 * height / REFERENCE_HEIGHT, bottom = y1 * height / REFERENCE_HEIGHT;
    int trim_x = (right - left) / 4, trim_y = (bottom - top) / 4;
    int stride = GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0);
    const uint8_t *row = (const uint8_t *)GST_VIDEO_FRAME_PLANE_DATA(frame, 0) + (top + trim_y) * stride;
    int64_t sum = 0;
    for (int y = top + trim_y; y < bottom - trim_y; y++, row += stride) {
        for (int x = left + trim_x; x < right - trim_x; x++) sum += row[x];
    }
    return (int)(16 * sum / ((int64_t)(right - left - 2 * trim_x) * (bottom - top - 2 * trim_y)));
}

static int32_t read_counter(const GstVideoFrame *frame) {
    int levels[32];
    for (int i = 0; i < 32; i++) {
        levels[i] = middle_mean(frame, STRIP_X + CELL * i, STRIP_Y, STRIP_X + CELL * (i + 1), STRIP_Y + CELL);
    }
    if (levels[0] - levels[1] < 16 * MINIMUM_CONTRAST) return -1;
    uint32_t word = 0;
    for (int i = 2; i < 32; i++) word = word << 1 | (2 * levels[i] > levels[0] + levels[1]);
    uint32_t counter = word >> CHECKSUM_BITS;
    return (word & ((1u << CHECKSUM_BITS) - 1)) == checksum(counter) ? (int32_t)counter : -1;
}

bool CTapedeck_sample_read_test_pattern(GstSample *sample, CTapedeckTestPicture *picture) {
    GstVideoInfo info;
    GstVideoFrame frame;
    if (!CTapedeck_sample_map(sample, &info, &frame)) return false;
    bool readable = GST_VIDEO_INFO_IS_YUV(&info) && GST_VIDEO_INFO_COMP_DEPTH(&info, 0) == 8 &&
                    GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0) == 1 && GST_VIDEO_INFO_WIDTH(&info) >= 320 &&
                    GST_VIDEO_INFO_HEIGHT(&info) >= 180;
    if (readable) {
        picture->counter = read_counter(&frame);
        picture->flash = middle_mean(&frame, 320, 240, 960, 480) > 16 * FLASH_LEVEL;
    }
    gst_video_frame_unmap(&frame);
    return readable;
}

enum { SAMPLE_RATE = 48000, CHANNELS = 2, BEEP_PEAK = 16384 };

// Streaming thread of the capture pipeline. Owns the buffer in `info` while it runs.
static GstPadProbeReturn on_sound(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    uint32_t beep_samples = SAMPLE_RATE / (GPOINTER_TO_UINT(user) & 0xFF), hertz = GPOINTER_TO_UINT(user) >> 8;
    GstBuffer *buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
    info->data = buffer;
    GstMapInfo map;
    if (!GST_BUFFER_PTS_IS_VALID(buffer) || !gst_buffer_map(buffer, &map, GST_MAP_WRITE)) return GST_PAD_PROBE_OK;
    uint64_t first = gst_util_uint64_scale_round(GST_BUFFER_PTS(buffer), SAMPLE_RATE, GST_SECOND);
    int16_t *samples = (int16_t *)map.data;
    for (size_t i = 0; i < map.size / (CHANNELS * sizeof(int16_t)); i++) {
        uint64_t phase = (first + i) % SAMPLE_RATE;
        // None at time 0: the encoder's pre-skip would cut it.
        bool beeps = phase < beep_samples && first + i >= SAMPLE_RATE;
        double level = beeps ? sin(2 * G_PI * hertz * (double)phase / SAMPLE_RATE) : 0;
        for (int channel = 0; channel < CHANNELS; channel++) samples[i * CHANNELS + channel] = (int16_t)(BEEP_PEAK * level);
    }
    gst_buffer_unmap(buffer, &map);
    // audiotestsrc says of its silence that there is nothing in it, and audioconvert takes its word.
    GST_BUFFER_FLAG_UNSET(buffer, GST_BUFFER_FLAG_GAP);
    return GST_PAD_PROBE_OK;
}

void CTapedeck_paint_test_sound(GstPad *pad, uint32_t frames_per_second, uint32_t hertz) {
    gpointer beep = GUINT_TO_POINTER((hertz & 0xFFFF) << 8 | (frames_per_second & 0xFF));
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_sound, beep, NULL);
}
