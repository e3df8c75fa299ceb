// SPDX-License-Identifier: Apache-2.0
//
// Between captures and encoders: raw media are muted or frozen while the call goes on.

#ifndef CTAPEDECK_GATE_H
#define CTAPEDECK_GATE_H

#include <gst/gst.h>
#include <stdbool.h>

/// A gate for the pictures (I420) or the sound of a camera. Thread-safe; reference counted.
typedef struct CTapedeckGate CTapedeckGate;

/// An open one.
CTapedeckGate *CTapedeck_gate_new(void);
void CTapedeck_gate_unref(CTapedeckGate *gate);
/// `blanks`: black pictures, or silence, pass in the place of what comes, at the same times. `holds`: the next buffer, blank
/// or not, passes again and again until it is false, or until pictures of another size come. Any thread.
void CTapedeck_gate_set(CTapedeckGate *gate, bool blanks, bool holds);
/// Has everything that passes `pad` pass the gate. The probe holds a reference.
void CTapedeck_gate_attach(CTapedeckGate *gate, GstPad *pad);

#endif
