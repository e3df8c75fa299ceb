// SPDX-License-Identifier: Apache-2.0

/// What of a camera is not to be seen or heard.
public struct CameraMutes: Sendable, Hashable {
    /// Whether the video is black.
    public var isVideoMuted = false
    /// Whether there is silence.
    public var isAudioMuted = false
    /// Whether the last frame stands still.
    public var isFrozen = false

    /// Everything is to be seen and heard.
    public init() {}

    /// Mutes and freezes what the other does, too.
    public mutating func formUnion(_ other: CameraMutes) {
        self.isVideoMuted = self.isVideoMuted || other.isVideoMuted
        self.isAudioMuted = self.isAudioMuted || other.isAudioMuted
        self.isFrozen = self.isFrozen || other.isFrozen
    }
}

extension SendSpec {
    /// What of it is not to be seen or heard.
    public var mutes: CameraMutes {
        get {
            var mutes = CameraMutes()
            mutes.isVideoMuted = self.isVideoMuted
            mutes.isAudioMuted = self.isAudioMuted
            mutes.isFrozen = self.isFrozen
            return mutes
        }
        set {
            self.isVideoMuted = newValue.isVideoMuted
            self.isAudioMuted = newValue.isAudioMuted
            self.isFrozen = newValue.isFrozen
        }
    }
}
