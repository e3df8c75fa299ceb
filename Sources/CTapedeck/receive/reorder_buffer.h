// SPDX-License-Identifier: Apache-2.0
//
// Functions of a reorder buffer for the path around its neighbours.

#ifndef CTAPEDECK_REORDER_BUFFER_H
#define CTAPEDECK_REORDER_BUFFER_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stdint.h>

/// Where packets come in; NULL if the element is no reorder buffer. The element's, not the caller's.
GstPad *reorder_buffer_sink(GstElement *element);

/// Packets of payload types that are not accepted, which were dropped in front of this one.
uint32_t reorder_buffer_passed_over(GstBuffer *packet);

// The rest is for elements that are reorder buffers.

/// Whether nothing is missing, so that nothing is being asked for. Any thread.
bool reorder_buffer_is_whole(GstElement *element);
/// Whether packets of the payload type, 0 to 127, have a separate exit. Any thread.
bool reorder_buffer_has_exit(GstElement *element, uint8_t payload_type);

#endif
