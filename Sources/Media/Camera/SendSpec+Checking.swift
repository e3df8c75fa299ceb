// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
public import Logging
public import Model
internal import Observability
public import PipelineCatalogue

extension SendSpec {
    /// Whether there is video.
    public var sendsVideo: Bool { self.video != nil }
    /// Whether there is audio.
    public var sendsAudio: Bool { self.audio != nil }
    /// Whether the rate follows what peers report.
    var hasAdaptiveRate: Bool { self.sendsVideo && self.minimumBitsPerSecond < self.bitsPerSecond }

    /// Whether calls that were made with other settings continue with these: the same kinds, described alike.
    func suits(callsOf other: SendSpec) -> Bool {
        self.sendsVideo == other.sendsVideo && self.sendsAudio == other.sendsAudio
            && self.usesAudioFEC == other.usesAudioFEC && self.usesAudioDTX == other.usesAudioDTX
    }

    /// Whether raw frames are of one size and rate.
    func hasVideo(like other: SendSpec) -> Bool {
        self.width == other.width && self.height == other.height && self.framesPerSecond == other.framesPerSecond
    }

    /// These settings with all that is named looked up and opened once, before anybody joins a room; a kind that a file
    /// does not have is left out, with a line in the log.
    ///
    /// Blocks, for a file up to 15 s; the session's control thread.
    public func checked(from pipelines: PipelineCatalogue, logger: Logger) throws(CaptureError) -> SendSpec {
        var checked = self
        for source in try CaptureSource.all(self, from: pipelines) {
            let missing = source.plan.file.missingElements
            guard missing.isEmpty else {
                let elements = missing.joined(separator: ", ")
                throw CaptureError("\(source) needs GStreamer elements that are not installed: \(elements)")
            }
            if let path = CaptureTrial.path(of: source) { try CaptureTrial.checkFile(path) }
            if source.isFile, let path = CaptureTrial.path(of: source) {
                checked.leaveOut(missingFrom: try CaptureTrial.inspect(path), of: source, logger)
            } else {
                try CaptureTrial.open(source)
            }
        }
        guard checked.sendsVideo || checked.sendsAudio else {
            let named = [self.video, self.audio].map { $0?.description ?? "none" }
            throw CaptureError(
                "there is nothing to send: \(named.joined(separator: " and ")) give neither video nor audio"
            )
        }
        return checked
    }

    /// Whether there are captures for all that is named, and whether they take the parameters; opens nothing.
    public func check(in pipelines: PipelineCatalogue) throws(CaptureError) {
        _ = try CaptureSource.all(self, from: pipelines)
    }

    /// The same for a call that continues without what does not work now: only kinds that a file does not have are left out.
    ///
    /// Blocks, for a file up to 15 s; the session's control thread.
    /// - Throws: for what no capture file gives, and for parameters that none takes.
    public func reconciled(from pipelines: PipelineCatalogue, logger: Logger) throws(CaptureError) -> SendSpec {
        var settings = self
        for source in try CaptureSource.all(self, from: pipelines) where source.isFile {
            guard let path = CaptureTrial.path(of: source), let media = try? CaptureTrial.inspect(path) else {
                continue
            }
            settings.leaveOut(missingFrom: media, of: source, logger)
        }
        return settings
    }

    private mutating func leaveOut(missingFrom media: MediaFile, of source: CaptureSource, _ logger: Logger) {
        if source.hasVideo, !media.hasVideo {
            logger.notice("the file has no video: none is sent", metadata: .tagged([.detail: "\(source)"]))
            self.video = nil
        }
        if source.hasAudio, !media.hasAudio {
            logger.notice("the file has no audio: none is sent", metadata: .tagged([.detail: "\(source)"]))
            self.audio = nil
        }
    }
}
