// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// Measures raw audio on its way to an encoder.
public final class AudioMeter: @unchecked Sendable {
    // The readable state of the C object is made of atomics.
    private let pointer = CTapedeck_sound_meter_new()

    /// Nothing is measured yet.
    public init() {}

    deinit {
        CTapedeck_sound_meter_unref(self.pointer)
    }

    /// Measures the S16LE audio that leaves the element's `src` pad from now on.
    public func attach(to element: Element) throws(GStreamerError) {
        CTapedeck_sound_meter_attach(self.pointer, try element.staticPad("src").pointer)
    }

    /// The reading; nil before any audio came.
    ///
    /// Any thread.
    public var level: AudioLevel? { AudioLevel(CTapedeck_sound_meter_read(self.pointer)) }
}
