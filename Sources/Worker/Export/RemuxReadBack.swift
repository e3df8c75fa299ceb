// SPDX-License-Identifier: Apache-2.0

internal import Codecs
internal import Dispatch
internal import Export
internal import GStreamer
internal import Synchronization

/// Reads an MP4 file of tracks before anybody else sees it.
enum RemuxReadBack {
    /// Counts what is in the file, by the demuxer that players use; blocks.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - report: what was put into it; G.711 was coded anew, and has other units then.
    ///   - limit: after so many seconds it counts as hanging.
    /// - Throws: `verificationFailed` unless every track has all of its units.
    static func check(_ path: String, _ report: ExportReport, limit: Int) throws {
        let ended = DispatchSemaphore(value: 0)
        let failure = Mutex<String?>(nil)
        let pipeline = try Pipeline(launch: Self.launch(report.tracks)) { event in
            switch event {
            case .error(_, let message, _):
                failure.withLock { $0 = $0 ?? message }
                ended.signal()
            case .endOfStream: ended.signal()
            case .warning: break
            }
        }
        try pipeline.element(named: "in").set("location", verbatim: path)
        let passages = try report.tracks.indices.map { try MediaPassage(into: pipeline.element(named: "track\($0)")) }
        do {
            defer { pipeline.stop() }
            try pipeline.play()
            guard ended.wait(timeout: .now() + .seconds(limit)) == .success else {
                throw Self.thrownAway("could not be read back in time")
            }
        }
        if let message = failure.withLock({ $0 }) { throw Self.thrownAway("cannot be read back: \(message)") }
        for (track, passage) in zip(report.tracks, passages) where !Self.isCodedAnew(track) {
            let units = passage.count().units
            guard units == track.units else {
                throw Self.thrownAway("has \(units) of \(track.units) units of \(track.name)'s \(track.media.rawValue)")
            }
        }
    }

    private static func isCodedAnew(_ track: ExportReport.Track) -> Bool {
        ["pcmu", "pcma"].contains(track.codec)
    }

    private static func thrownAway(_ finding: String) -> ExportError {
        ExportError(.verificationFailed, "the MP4 file was thrown away: it \(finding)")
    }

    private static func launch(_ tracks: [ExportReport.Track]) -> String {
        let branches = tracks.enumerated().map { index, track in
            let earlier = tracks[..<index].count { $0.media == track.media }
            return "demux.\(track.media.rawValue)_\(earlier) ! fakesink sync=false async=false name=track\(index)"
        }
        return "filesrc name=in ! qtdemux name=demux " + branches.joined(separator: " ")
    }
}
