// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Export
internal import Matroska

/// The mixed audio of all participants, from the beginning of the range on.
final class Mixer {
    private let tracks: [DecodedAudio]
    private let participantCount: Int
    private var position: Int64 = 0

    /// Opens the audio of a recording again.
    init(_ input: RenderInput) throws(ExportError) {
        var tracks: [DecodedAudio] = []
        for track in input.tracks where track.codec.kind == .audio {
            let index = input.participants.firstIndex { $0.id == track.participant } ?? 0
            tracks.append(try DecodedAudio(track, participant: index))
        }
        self.tracks = tracks
        self.participantCount = input.participants.count
    }

    /// Whether no participant sent audio.
    var isSilent: Bool { self.tracks.isEmpty }

    /// The next stretch as interleaved stereo, and the mean square of each participant's samples.
    func read(frames: Int) -> (samples: [Float], powers: [Double]) {
        var samples = [Float](repeating: 0, count: frames * 2)
        var powers = [Double](repeating: 0, count: self.participantCount)
        for track in self.tracks {
            let sum = track.mix(into: &samples, from: self.position)
            if powers.indices.contains(track.participant), frames > 0 {
                powers[track.participant] += sum / Double(frames)
            }
        }
        self.position += Int64(frames)
        return (samples, powers)
    }

    /// Warnings about packets that could not be decoded, a sentence for each track.
    var warnings: [String] { self.tracks.compactMap(\.warning) }
}
