// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Model
internal import Synchronization

/// What everything that a camera captures passes before it is coded; thread-safe.
final class CaptureGates: Sendable {
    let video = MediaGate()
    let audio = MediaGate()
    private let state = Mutex(State())

    private struct State {
        /// What the settings mute and freeze.
        var settings = CameraMutes()
        /// What the camera's owner mutes and freezes.
        var owner = CameraMutes()

        var all: CameraMutes {
            var all = self.settings
            all.formUnion(self.owner)
            return all
        }
    }

    /// What is muted and frozen at present.
    var mutes: CameraMutes { self.state.withLock { $0.all } }

    /// Mutes and freezes as settings say.
    func follow(_ mutes: CameraMutes) {
        self.set { $0.settings = mutes }
    }

    /// Mutes and freezes this besides what settings say.
    func hide(_ mutes: CameraMutes) {
        self.set { $0.owner = mutes }
    }

    private func set(_ change: (inout State) -> Void) {
        self.state.withLock { state in
            change(&state)
            let all = state.all
            self.video.set(isBlank: all.isVideoMuted, isHeld: all.isFrozen)
            self.audio.set(isBlank: all.isAudioMuted, isHeld: false)
        }
    }
}
