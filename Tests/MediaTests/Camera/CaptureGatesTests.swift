// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@testable import Media

struct CaptureGatesTests {
    private func mutes(video: Bool = false, audio: Bool = false, frozen: Bool = false) -> CameraMutes {
        var mutes = CameraMutes()
        (mutes.isVideoMuted, mutes.isAudioMuted, mutes.isFrozen) = (video, audio, frozen)
        return mutes
    }

    /// A change that a driver holds up ends after its owner has muted: it does not take that back.
    @Test
    func whatEitherMutesIsMuted() {
        let gates = CaptureGates()
        #expect(gates.mutes == CameraMutes())
        gates.follow(self.mutes(video: true))
        gates.hide(self.mutes(audio: true, frozen: true))
        #expect(gates.mutes == self.mutes(video: true, audio: true, frozen: true))
        gates.follow(CameraMutes())
        #expect(gates.mutes == self.mutes(audio: true, frozen: true))
        gates.hide(CameraMutes())
        #expect(gates.mutes == CameraMutes())
    }
}
