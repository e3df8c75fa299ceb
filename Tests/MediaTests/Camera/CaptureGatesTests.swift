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

    @Test
    func whatAnyoneMutesIsMuted() {
        let gates = CaptureGates()
        #expect(gates.mutes == CameraMutes())
        gates.follow(self.mutes(video: true))
        gates.expect(self.mutes(audio: true))
        gates.keep(self.mutes(frozen: true))
        #expect(gates.mutes == self.mutes(video: true, audio: true, frozen: true))
        gates.expect(CameraMutes())
        #expect(gates.mutes == self.mutes(video: true, frozen: true))
        gates.keep(CameraMutes())
        #expect(gates.mutes == self.mutes(video: true))
    }

    /// A change that a driver holds up ends after a newer order has muted: it does not take that back.
    @Test
    func theEndOfAChangeLeavesWhatWasMutedMeanwhile() {
        let gates = CaptureGates()
        gates.follow(self.mutes(video: true))
        gates.keep(self.mutes(video: true))
        gates.follow(CameraMutes())
        #expect(gates.mutes == self.mutes(video: true))
        gates.follow(self.mutes(audio: true))
        #expect(gates.mutes == self.mutes(video: true, audio: true))
        gates.keep(CameraMutes())
        #expect(gates.mutes == self.mutes(audio: true))
    }
}
