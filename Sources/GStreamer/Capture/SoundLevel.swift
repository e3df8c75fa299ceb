// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// How loud a sound is.
public struct SoundLevel: Sendable, Hashable {
    /// The mean of the last whole second in dBov (RFC 6464 section 3), -127 to 0; nil while nothing comes.
    public var decibels: Double?
    /// How long it has been no louder than -60 dBov.
    public var silence: Duration

    /// A level with each part given.
    public init(decibels: Double?, silence: Duration) {
        self.decibels = decibels
        self.silence = silence
    }

    /// nil before anything came.
    init?(_ level: CTapedeckSoundLevel) {
        guard level.is_known else { return nil }
        self.decibels = level.is_measured ? level.decibels : nil
        self.silence = .nanoseconds(level.silent_nanoseconds)
    }
}

/// Measures raw sound on its way to an encoder.
public final class SoundMeter: @unchecked Sendable {
    // What the C object shows is made of atomics.
    private let pointer = CTapedeck_sound_meter_new()

    /// Nothing is measured yet.
    public init() {}

    deinit {
        CTapedeck_sound_meter_unref(self.pointer)
    }

    /// Measures the S16LE sound that leaves the element's `src` pad from now on.
    public func attach(to element: Element) throws(GStreamerError) {
        CTapedeck_sound_meter_attach(self.pointer, try element.staticPad("src").pointer)
    }

    /// What it shows; nil before any sound came.
    ///
    /// Any thread.
    public var level: SoundLevel? { SoundLevel(CTapedeck_sound_meter_read(self.pointer)) }
}
