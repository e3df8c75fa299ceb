// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@Suite struct SendSpecTests {
    private static let wrong: [(String, @Sendable (inout SendSpec) -> Void)] = [
        ("the camera has neither video nor audio", { ($0.video, $0.audio) = (nil, nil) }),
        ("the video takes even numbers of pixels from 320x180 to 7680x4320", { $0.width = 321 }),
        ("the video takes even numbers of pixels from 320x180 to 7680x4320", { $0.height = 4322 }),
        ("framesPerSecond takes 1 to 60, not 61", { $0.framesPerSecond = 61 }),
        ("bitsPerSecond takes 50000 to 50000000, not \(Int.max)", { $0.bitsPerSecond = .max }),
        ("minimumBitsPerSecond takes 50000 to bitsPerSecond, not 1500001", { $0.minimumBitsPerSecond = 1_500_001 }),
        ("minimumBitsPerSecond takes 50000 to bitsPerSecond, not 0", { $0.minimumBitsPerSecond = 0 }),
        ("audioBitsPerSecond takes 6000 to 510000, not 5999", { $0.audioBitsPerSecond = 5999 }),
    ]

    @Test(arguments: Self.wrong.indices)
    func saysWhatIsWrong(index: Int) {
        let (sentence, change) = Self.wrong[index]
        var spec = SendSpec()
        #expect(spec.problems.isEmpty)
        change(&spec)
        #expect(spec.problems.map(\.description) == [sentence])
    }

    @Test func oneOfPictureAndSoundIsEnough() {
        #expect(SendSpec(video: nil).problems.isEmpty && SendSpec(audio: nil).problems.isEmpty)
    }
}
