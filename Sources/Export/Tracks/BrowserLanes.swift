// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Model

/// Picks the tracks for a player in a browser: one of video and one of audio, both of one participant.
enum BrowserLanes {
    /// The tracks of the first participant with video, or else of the first of all.
    ///
    /// Files of the same kind and codec follow each other in one track; what does not fit is named in the warnings.
    static func choose(_ sources: [TrackSource], _ warnings: inout [String]) -> [TrackLane] {
        let leading = sources.first { $0.track.codec.kind == .video } ?? sources.first
        guard let leading else { return [] }
        let candidates = sources.filter { $0.participant == leading.participant }
            .sorted { ($0.firstNanoseconds ?? .max) < ($1.firstNanoseconds ?? .max) }
        var lanes: [TrackLane] = []
        for kind in [MediaKind.video, .audio] {
            let ofKind = candidates.filter { $0.track.codec.kind == kind }
            guard let first = ofKind.first else { continue }
            let fitting = ofKind.dropFirst().filter { $0.track.codec == first.track.codec }
            for source in ofKind where source.track.codec != first.track.codec {
                warnings.append(
                    "\(source.file) is left out: it is \(source.track.codec.rawValue), not \(first.track.codec.rawValue)"
                )
            }
            lanes.append(TrackLane(first, then: Array(fitting)))
        }
        return lanes
    }
}

extension MediaCodec {
    /// Whether WebM has the codec.
    var isInWebM: Bool {
        switch self {
        case .vp8, .vp9, .opus: true
        case .h264, .pcmu, .pcma: false
        }
    }
}

extension ExportSpec.Container {
    /// Throws a sentence that names the codecs which the container does not take.
    func requireFit(_ lanes: [TrackLane]) throws(ExportError) {
        let (taken, takes): (String, (MediaCodec) -> Bool) =
            switch self {
            case .mkv: ("every codec", { _ in true })
            case .webm: ("VP8, VP9 and Opus", { $0.isInWebM })
            case .mp4: ("H.264, VP9 and Opus", { [.h264, .vp9, .opus].contains($0) })
            }
        let unfit = lanes.map(\.first).filter { !takes($0.track.codec) }
        guard !unfit.isEmpty else { return }
        let named = unfit.map { "\($0.track.codec.title) (\(printable($0.name)))" }
        throw ExportError(
            .unsuitableContainer,
            "a \(self.rawValue) file takes \(taken), and this recording has \(named.joined(separator: ", "))"
                + "; export to mkv, which takes all"
        )
    }
}
