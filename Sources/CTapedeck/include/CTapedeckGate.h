// SPDX-License-Identifier: Apache-2.0
//
// Gates between captures and encoders: raw media are muted or frozen while the call continues.

#ifndef CTAPEDECK_GATE_H
#define CTAPEDECK_GATE_H

#include <gst/gst.h>
#include <stdbool.h>

/// A gate for the video (I420) or the audio of a camera. Thread-safe; reference counted.
typedef struct CTapedeckGate CTapedeckGate;

/// An open one.
CTapedeckGate *CTapedeck_gate_new(void);
void CTapedeck_gate_unref(CTapedeckGate *gate);
/// `blanks`: black frames, or silence, pass instead of the input, at the same times. `holds`: the next buffer, blank or
/// not, passes again and again until it is false, or until frames of another size come. Any thread.
void CTapedeck_gate_set(CTapedeckGate *gate, bool blanks, bool holds);
/// Has everything that passes `pad` pass the gate. The probe holds a reference.
void CTapedeck_gate_attach(CTapedeckGate *gate, GstPad *pad);

#endif
