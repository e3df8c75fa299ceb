// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// The level of audio.
public struct AudioLevel: Sendable, Hashable {
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
