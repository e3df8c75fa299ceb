// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// Mutes or freezes raw video or raw audio on its way from captures to encoders.
public final class MediaGate: @unchecked Sendable {
    // The C object locks for itself.
    private let pointer = CTapedeck_gate_new()

    /// An open gate.
    public init() {}

    deinit {
        CTapedeck_gate_unref(self.pointer)
    }

    /// Sets what passes from the next buffer on.
    ///
    /// Any thread.
    /// - Parameters:
    ///   - isBlank: Black frames, or silence, pass instead of the input.
    ///   - isHeld: The next buffer, blank or not, passes again and again, until frames of another size come.
    public func set(isBlank: Bool, isHeld: Bool) {
        CTapedeck_gate_set(self.pointer, isBlank, isHeld)
    }

    /// Has everything that comes to the element's `sink` pad pass the gate.
    public func attach(to element: Element) throws(GStreamerError) {
        CTapedeck_gate_attach(self.pointer, try element.staticPad("sink").pointer)
    }
}
