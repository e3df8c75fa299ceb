// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@testable import Media

struct CurrentSettingsTests {
    private static let mutes: [CameraMutes] = (0..<8).map { bits in
        var mutes = CameraMutes()
        (mutes.isVideoMuted, mutes.isAudioMuted, mutes.isFrozen) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0)
        return mutes
    }

    private func spec(_ mutes: CameraMutes) -> SendSpec {
        var spec = SendSpec()
        spec.mutes = mutes
        return spec
    }

    /// Whatever was muted before, and whatever the change opens.
    @Test(arguments: Self.mutes, Self.mutes)
    func aChangeTakesBackNothingThatWasMutedSinceItBegan(before: CameraMutes, ordered: CameraMutes) {
        for meanwhile in Self.mutes {
            var current = CurrentSettings(self.spec(before))
            #expect(current.beginChange() == self.spec(before))
            current.mute(meanwhile)
            current.change(to: self.spec(ordered))
            var expected = ordered
            expected.formUnion(meanwhile)
            #expect(current.settings == self.spec(expected))
        }
    }

    @Test(arguments: Self.mutes, Self.mutes)
    func aChangeOpensWhatWasMutedBeforeItBegan(earlier: CameraMutes, ordered: CameraMutes) {
        var current = CurrentSettings(SendSpec())
        current.mute(earlier)
        #expect(current.settings == self.spec(earlier))
        #expect(current.beginChange() == self.spec(earlier))
        current.change(to: self.spec(ordered))
        #expect(current.settings == self.spec(ordered))
    }
}
