// SPDX-License-Identifier: Apache-2.0
//
// Ways from webrtcbin's pads to what they come from.

#ifndef CTAPEDECK_RECEIVE_PATH_H
#define CTAPEDECK_RECEIVE_PATH_H

#include <gst/gst.h>

/// The pad that gives packets to the one at `pad`, one element with one sink or one wall of a bin further up; NULL if there is
/// none. `element` is what was stepped over, or NULL; both are the caller's.
GstPad *receive_path_step_up(GstPad *pad, GstElement **element);

#endif
