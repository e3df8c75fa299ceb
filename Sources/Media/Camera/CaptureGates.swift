// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Rooms

/// What everything that a camera captures passes before it is coded; thread-safe.
struct CaptureGates: Sendable {
    let picture = MediaGate()
    let sound = MediaGate()

    /// Mutes and freezes as settings say.
    func follow(_ settings: SendSpec) {
        self.picture.set(isBlank: settings.isVideoMuted, isHeld: settings.isFrozen)
        self.sound.set(isBlank: settings.isAudioMuted, isHeld: false)
    }
}
