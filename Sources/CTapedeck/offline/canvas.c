// SPDX-License-Identifier: Apache-2.0

#include "canvas.h"

#include <string.h>

enum { SLOTS = 256 };

/// Data for scaling frames of one shape into one rectangle.
typedef struct {
    GstVideoConverter *converter;
    GstVideoInfo source;
    GstVideoInfo target;
    int x, y, width, height;
} Scaler;

struct CTapedeckCanvas {
    GstVideoInfo info;
    GstBuffer *buffer;
    GstVideoFrame frame;
    GstBuffer *last;
    Scaler scalers[SLOTS];
};

CTapedeckCanvas *CTapedeck_canvas_new(int width, int height) {
    CTapedeckCanvas *canvas = g_new0(CTapedeckCanvas, 1);
    gst_video_info_set_format(&canvas->info, GST_VIDEO_FORMAT_I420, (guint)width, (guint)height);
    gst_video_colorimetry_from_string(&canvas->info.colorimetry, "bt601");
    canvas->buffer = gst_buffer_new_allocate(NULL, canvas->info.size, NULL);
    if (canvas->buffer == NULL || !gst_video_frame_map(&canvas->frame, &canvas->info, canvas->buffer, GST_MAP_READWRITE)) {
        gst_clear_buffer(&canvas->buffer);
        g_free(canvas);
        return NULL;
    }
    CTapedeck_canvas_fill(canvas, 0, 0, width, height, 16, 128, 128);
    return canvas;
}

void CTapedeck_canvas_free(CTapedeckCanvas *canvas) {
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if (canvas->scalers[slot].converter != NULL) gst_video_converter_free(canvas->scalers[slot].converter);
    }
    gst_video_frame_unmap(&canvas->frame);
    gst_clear_buffer(&canvas->buffer);
    gst_clear_buffer(&canvas->last);
    g_free(canvas);
}

/// Cuts a rectangle to the canvas; FALSE if nothing is left.
static gboolean cut(const CTapedeckCanvas *canvas, int *x, int *y, int *width, int *height) {
    int right = MIN(*x + *width, GST_VIDEO_INFO_WIDTH(&canvas->info));
    int bottom = MIN(*y + *height, GST_VIDEO_INFO_HEIGHT(&canvas->info));
    *x = MAX(*x, 0);
    *y = MAX(*y, 0);
    *width = right - *x;
    *height = bottom - *y;
    return *width > 0 && *height > 0;
}

static uint8_t *line(CTapedeckCanvas *canvas, int plane, int x, int y) {
    uint8_t *data = GST_VIDEO_FRAME_PLANE_DATA(&canvas->frame, plane);
    int shift = plane == 0 ? 0 : 1;
    return data + (ptrdiff_t)(y >> shift) * GST_VIDEO_FRAME_PLANE_STRIDE(&canvas->frame, plane) + (x >> shift);
}

void CTapedeck_canvas_fill(CTapedeckCanvas *canvas, int x, int y, int width, int height, uint8_t luma, uint8_t cb,
                           uint8_t cr) {
    gst_clear_buffer(&canvas->last);
    if (!cut(canvas, &x, &y, &width, &height)) return;
    for (int row = y; row < y + height; row++) memset(line(canvas, 0, x, row), luma, (size_t)width);
    for (int row = y; row < y + height; row += 2) {
        memset(line(canvas, 1, x, row), cb, (size_t)(width + 1) / 2);
        memset(line(canvas, 2, x, row), cr, (size_t)(width + 1) / 2);
    }
}

void CTapedeck_canvas_shade(CTapedeckCanvas *canvas, int x, int y, int width, int height) {
    gst_clear_buffer(&canvas->last);
    if (!cut(canvas, &x, &y, &width, &height)) return;
    for (int row = y; row < y + height; row++) {
        uint8_t *luma = line(canvas, 0, x, row);
        for (int column = 0; column < width; column++) {
            luma[column] = (uint8_t)(16 + (MAX(luma[column], 16) - 16) * 3 / 8);
        }
    }
    for (int row = y; row < y + height; row += 2) {
        for (int plane = 1; plane <= 2; plane++) {
            uint8_t *chroma = line(canvas, plane, x, row);
            for (int column = 0; column < (width + 1) / 2; column++) {
                chroma[column] = (uint8_t)(128 + (chroma[column] - 128) * 3 / 8);
            }
        }
    }
}

gboolean CTapedeck_sample_map(GstSample *sample, GstVideoInfo *info, GstVideoFrame *frame) {
    GstCaps *caps = gst_sample_get_caps(sample);
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    return caps != NULL && buffer != NULL && gst_video_info_from_caps(info, caps) &&
           gst_video_frame_map(frame, info, buffer, GST_MAP_READ);
}

bool CTapedeck_sample_picture(GstSample *sample, CTapedeckPicture *picture) {
    GstVideoInfo info;
    GstCaps *caps = gst_sample_get_caps(sample);
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    if (caps == NULL || buffer == NULL || !gst_video_info_from_caps(&info, caps)) return false;
    picture->width = GST_VIDEO_INFO_WIDTH(&info);
    picture->height = GST_VIDEO_INFO_HEIGHT(&info);
    picture->aspect_numerator = GST_VIDEO_INFO_PAR_N(&info);
    picture->aspect_denominator = GST_VIDEO_INFO_PAR_D(&info);
    picture->nanoseconds = GST_BUFFER_PTS_IS_VALID(buffer) ? (int64_t)GST_BUFFER_PTS(buffer) : -1;
    return picture->width > 0 && picture->height > 0;
}

static GstVideoConverter *converter(CTapedeckCanvas *canvas, unsigned slot, GstVideoInfo *source,
                                    const GstVideoInfo *target, int x, int y, int width, int height) {
    Scaler *scaler = &canvas->scalers[slot];
    if (scaler->converter != NULL && gst_video_info_is_equal(&scaler->source, source) &&
        gst_video_info_is_equal(&scaler->target, target) && scaler->x == x && scaler->y == y &&
        scaler->width == width && scaler->height == height) {
        return scaler->converter;
    }
    if (scaler->converter != NULL) gst_video_converter_free(scaler->converter);
    GstStructure *options = gst_structure_new(
        "options", GST_VIDEO_CONVERTER_OPT_DEST_X, G_TYPE_INT, x, GST_VIDEO_CONVERTER_OPT_DEST_Y, G_TYPE_INT, y,
        GST_VIDEO_CONVERTER_OPT_DEST_WIDTH, G_TYPE_INT, width, GST_VIDEO_CONVERTER_OPT_DEST_HEIGHT, G_TYPE_INT, height,
        GST_VIDEO_CONVERTER_OPT_FILL_BORDER, G_TYPE_BOOLEAN, FALSE, GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD,
        GST_TYPE_VIDEO_RESAMPLER_METHOD, GST_VIDEO_RESAMPLER_METHOD_LINEAR, NULL);
    *scaler = (Scaler){gst_video_converter_new(source, target, options), *source, *target, x, y, width, height};
    return scaler->converter;
}

// Copies a plane of a frame to a place on the canvas, turned clockwise.
static void turn_plane(const GstVideoFrame *frame, int plane, unsigned quarter_turns, uint8_t *to, ptrdiff_t to_stride) {
    int shift = plane == 0 ? 0 : 1;
    int width = GST_VIDEO_FRAME_WIDTH(frame) >> shift;
    int height = GST_VIDEO_FRAME_HEIGHT(frame) >> shift;
    const uint8_t *from = GST_VIDEO_FRAME_PLANE_DATA(frame, plane);
    ptrdiff_t stride = GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane);
    for (int y = 0; y < height; y++) {
        const uint8_t *row = from + y * stride;
        for (int x = 0; x < width; x++) {
            switch (quarter_turns) {
            case 1: to[x * to_stride + height - 1 - y] = row[x]; break;
            case 2: to[(height - 1 - y) * to_stride + width - 1 - x] = row[x]; break;
            default: to[(width - 1 - x) * to_stride + y] = row[x]; break;
            }
        }
    }
}

// Scales a frame as it lies, and copies the result to the canvas turned.
static bool draw_turned(CTapedeckCanvas *canvas, unsigned slot, GstVideoInfo *info, GstVideoFrame *frame,
                        unsigned quarter_turns, int x, int y, int width, int height) {
    bool is_sideways = quarter_turns % 2 == 1;
    GstVideoInfo lying;
    gst_video_info_set_format(&lying, GST_VIDEO_FORMAT_I420, (guint)(is_sideways ? height : width),
                              (guint)(is_sideways ? width : height));
    lying.colorimetry = canvas->info.colorimetry;
    GstVideoConverter *scaling = converter(canvas, slot, info, &lying, 0, 0, lying.width, lying.height);
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, lying.size, NULL);
    GstVideoFrame scaled;
    bool is_mapped = buffer != NULL && gst_video_frame_map(&scaled, &lying, buffer, GST_MAP_READWRITE);
    if (is_mapped) {
        if (scaling != NULL) {
            gst_video_converter_frame(scaling, frame, &scaled);
            for (int plane = 0; plane < 3; plane++) {
                turn_plane(&scaled, plane, quarter_turns, line(canvas, plane, x, y),
                           GST_VIDEO_FRAME_PLANE_STRIDE(&canvas->frame, plane));
            }
        }
        gst_video_frame_unmap(&scaled);
    }
    gst_clear_buffer(&buffer);
    return is_mapped && scaling != NULL;
}

bool CTapedeck_canvas_draw(CTapedeckCanvas *canvas, unsigned slot, GstSample *sample, unsigned quarter_turns, int x, int y,
                           int width, int height) {
    GstVideoInfo info;
    GstVideoFrame frame;
    if (slot >= SLOTS || quarter_turns > 3 || x < 0 || y < 0 || width < 2 || height < 2 ||
        x + width > GST_VIDEO_INFO_WIDTH(&canvas->info) || y + height > GST_VIDEO_INFO_HEIGHT(&canvas->info) ||
        !CTapedeck_sample_map(sample, &info, &frame)) {
        return false;
    }
    gst_clear_buffer(&canvas->last);
    // WebRTC's senders use BT.601 whatever the size, and mostly say nothing: the numbers are taken as they are, where the
    // decoder guesses by height.
    if (GST_VIDEO_INFO_IS_YUV(&info)) info.colorimetry = canvas->info.colorimetry;
    // Rates differ from frame to frame and mean nothing to scaling.
    GST_VIDEO_INFO_FPS_N(&info) = 0;
    GST_VIDEO_INFO_FPS_D(&info) = 1;
    // A converter refuses frames of two fields, which are lines of one frame all the same.
    GST_VIDEO_INFO_INTERLACE_MODE(&info) = GST_VIDEO_INTERLACE_MODE_PROGRESSIVE;
    bool is_drawn;
    if (quarter_turns != 0) {
        is_drawn = draw_turned(canvas, slot, &info, &frame, quarter_turns, x, y, width, height);
    } else {
        GstVideoConverter *scaling = converter(canvas, slot, &info, &canvas->info, x, y, width, height);
        if (scaling != NULL) gst_video_converter_frame(scaling, &frame, &canvas->frame);
        is_drawn = scaling != NULL;
    }
    gst_video_frame_unmap(&frame);
    return is_drawn;
}

bool CTapedeck_canvas_blend(CTapedeckCanvas *canvas, GstSample *sample, int x, int y, int maximum_width) {
    GstVideoInfo info;
    GstVideoFrame frame;
    if (!CTapedeck_sample_map(sample, &info, &frame)) return false;
    gst_clear_buffer(&canvas->last);
    // Fewer columns of the same lines.
    if (maximum_width < GST_VIDEO_FRAME_WIDTH(&frame)) frame.info.width = MAX(maximum_width, 0) & ~1;
    bool blended = frame.info.width > 0 && gst_video_blend(&canvas->frame, &frame, x, y, 1.0f);
    gst_video_frame_unmap(&frame);
    return blended;
}

int CTapedeck_sample_visible_width(GstSample *sample) {
    GstVideoInfo info;
    GstVideoFrame frame;
    if (!CTapedeck_sample_map(sample, &info, &frame)) return 0;
    int visible = 0;
    if (GST_VIDEO_INFO_FORMAT(&info) == GST_VIDEO_FORMAT_AYUV) {
        const uint8_t *data = GST_VIDEO_FRAME_PLANE_DATA(&frame, 0);
        for (int y = 0; y < GST_VIDEO_FRAME_HEIGHT(&frame); y++) {
            const uint8_t *row = data + (ptrdiff_t)y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
            for (int x = GST_VIDEO_FRAME_WIDTH(&frame) - 1; x >= visible; x--) {
                if (row[x * 4] != 0) visible = x + 1;
            }
        }
    }
    gst_video_frame_unmap(&frame);
    return visible;
}

GstBuffer *CTapedeck_canvas_buffer(CTapedeckCanvas *canvas) {
    if (canvas->last == NULL) {
        canvas->last = gst_buffer_new_memdup(GST_VIDEO_FRAME_PLANE_DATA(&canvas->frame, 0), canvas->info.size);
    }
    // Shares the bytes: a frame in which nothing moves costs nothing.
    return gst_buffer_copy(canvas->last);
}
