// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Model
internal import Synchronization

/// What everything that a camera captures passes before it is coded; thread-safe.
final class CaptureGates: Sendable {
    let picture = MediaGate()
    let sound = MediaGate()
    private let state = Mutex(State())

    private struct State {
        /// What the settings mute and freeze.
        var ordered = CameraMutes()
        /// What orders do that are yet to be performed.
        var expected = CameraMutes()
        /// What was muted before the change that is made at present: what it ends may still be seen and heard.
        var kept = CameraMutes()

        var all: CameraMutes {
            var all = self.ordered
            all.formUnion(self.expected)
            all.formUnion(self.kept)
            return all
        }
    }

    /// What is muted and frozen at present.
    var mutes: CameraMutes { self.state.withLock { $0.all } }

    /// Mutes and freezes as settings say, and what is expected.
    func follow(_ mutes: CameraMutes) {
        self.set { $0.ordered = mutes }
    }

    /// Mutes and freezes this beside what settings say.
    func expect(_ mutes: CameraMutes) {
        self.set { $0.expected = mutes }
    }

    /// Keeps muted what was, until it is told otherwise.
    func keep(_ mutes: CameraMutes) {
        self.set { $0.kept = mutes }
    }

    private func set(_ change: (inout State) -> Void) {
        self.state.withLock { state in
            change(&state)
            let all = state.all
            self.picture.set(isBlank: all.isVideoMuted, isHeld: all.isFrozen)
            self.sound.set(isBlank: all.isAudioMuted, isHeld: false)
        }
    }
}
