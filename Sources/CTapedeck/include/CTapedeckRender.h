// SPDX-License-Identifier: Apache-2.0
//
// Offline media without clocks: codecs that run inside the caller's call, a canvas that frames are drawn on, and feeds
// that pass finished video and audio to an encoding pipeline.

#ifndef CTAPEDECK_RENDER_H
#define CTAPEDECK_RENDER_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Elements in a row that work in the pushing thread: all that a unit yields is there when the push returns, unless an
/// element keeps it back. One thread at a time.
typedef struct CTapedeckChain CTapedeckChain;

/// Parses `launch`, whose free pads take `caps`; `codec_data` goes into them unless it is NULL. NULL if an element is
/// missing or does not start.
CTapedeckChain *CTapedeck_chain_new(const char *launch, const char *caps, const uint8_t *codec_data, size_t size);
void CTapedeck_chain_free(CTapedeckChain *chain);
/// Pushes one unit. False if the elements refuse more.
bool CTapedeck_chain_push(CTapedeckChain *chain, const uint8_t *data, size_t size, int64_t nanoseconds);
/// Ends the stream: what elements kept back comes out.
void CTapedeck_chain_finish(CTapedeckChain *chain);
/// The oldest output that was not pulled yet, transfer full; NULL if there is none.
GstSample *CTapedeck_chain_pull(CTapedeckChain *chain);

/// gst_sample_unref is a static inline function with a cast.
void CTapedeck_sample_release(GstSample *sample);

/// Properties of a decoded frame.
typedef struct {
    int width;
    int height;
    int aspect_numerator;
    int aspect_denominator;
    /// -1 if it has none.
    int64_t nanoseconds;
} CTapedeckPicture;

/// False if the sample is no frame that can be drawn.
bool CTapedeck_sample_picture(GstSample *sample, CTapedeckPicture *picture);
/// The time stamp, -1 if there is none, and a copy of the bytes to free with g_free.
uint8_t *CTapedeck_sample_bytes(GstSample *sample, size_t *size, int64_t *nanoseconds);

/// The test pattern's content in a decoded frame (Tests/Peers/test-pattern.md).
typedef struct {
    /// -1 if the strip is not there or its checksum is wrong.
    int32_t counter;
    bool flash;
} CTapedeckTestPicture;

/// False if the sample is no frame with a separate plane of 8-bit luma, or is too small for the pattern.
bool CTapedeck_sample_read_test_pattern(GstSample *sample, CTapedeckTestPicture *picture);

/// A frame in I420 (BT.601, limited range) to draw on.
typedef struct CTapedeckCanvas CTapedeckCanvas;

/// `width` and `height` are even.
CTapedeckCanvas *CTapedeck_canvas_new(int width, int height);
void CTapedeck_canvas_free(CTapedeckCanvas *canvas);
/// Fills a rectangle, which is cut to the canvas; even coordinates.
void CTapedeck_canvas_fill(CTapedeckCanvas *canvas, int x, int y, int width, int height, uint8_t luma, uint8_t cb,
                           uint8_t cr);
/// Darkens a rectangle to 3/8 of its brightness.
void CTapedeck_canvas_shade(CTapedeckCanvas *canvas, int x, int y, int width, int height);
/// Turns a frame clockwise by `quarter_turns`, 0 to 3, and scales it into a rectangle. `slot`, 0 to 255, keeps what scaling
/// needs from frame to frame. False if it cannot be drawn.
bool CTapedeck_canvas_draw(CTapedeckCanvas *canvas, unsigned slot, GstSample *sample, unsigned quarter_turns, int x, int y,
                           int width, int height);
/// Blends an image with transparency over the canvas, at most `maximum_width` wide.
bool CTapedeck_canvas_blend(CTapedeckCanvas *canvas, GstSample *sample, int x, int y, int maximum_width);
/// The columns of an AYUV image up to the last that is not transparent.
int CTapedeck_sample_visible_width(GstSample *sample);

/// An appsrc with a bounded queue.
typedef struct CTapedeckFeed CTapedeckFeed;

CTapedeckFeed *CTapedeck_feed_new(GstElement *appsrc, unsigned maximum_buffers);
void CTapedeck_feed_free(CTapedeckFeed *feed);
/// Pushes what is on the canvas. Waits while the queue is full; false after `patience_nanoseconds`, or if the pipeline takes
/// no more.
bool CTapedeck_feed_push_canvas(CTapedeckFeed *feed, CTapedeckCanvas *canvas, int64_t nanoseconds, int64_t duration,
                                int64_t patience_nanoseconds);
bool CTapedeck_feed_push_bytes(CTapedeckFeed *feed, const void *data, size_t size, int64_t nanoseconds, int64_t duration,
                               int64_t patience_nanoseconds);
void CTapedeck_feed_finish(CTapedeckFeed *feed);

/// Counts what passes a pad.
typedef struct CTapedeckPassage CTapedeckPassage;

typedef struct {
    uint64_t units;
    uint64_t keyframes;
    uint64_t bytes;
    /// Running time of the first and of the last unit; -1 if there is none.
    int64_t first_nanoseconds;
    int64_t end_nanoseconds;
} CTapedeckPassageCount;

CTapedeckPassage *CTapedeck_passage_new(GstPad *pad);
void CTapedeck_passage_free(CTapedeckPassage *passage);
/// After the pipeline was stopped.
CTapedeckPassageCount CTapedeck_passage_count(const CTapedeckPassage *passage);

#endif
