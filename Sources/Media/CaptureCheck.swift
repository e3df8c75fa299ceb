// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import GStreamer
public import Logging
internal import Observability
internal import Synchronization

/// Why nothing can be captured from what was named; the person who named it can mend it.
public struct CaptureError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence that names the file or device, and for a device what there is instead.
    public var message: String

    /// An error of that sentence.
    public init(_ message: String) {
        self.message = message
    }

    /// The message.
    public var description: String { self.message }
}

extension CameraSettings {
    /// These settings with all that is named opened once, before anybody joins a room; a kind that a file does not have
    /// is left out, with a line in the log.
    ///
    /// Blocks, for a file up to 15 s; the session's control thread.
    public func checked(logger: Logger) throws(CaptureError) -> CameraSettings {
        var checked = self
        for source in CaptureSource.all(self.video, self.audio) {
            switch source.kind {
            case .test: continue
            case .camera, .microphone: try CaptureTrial.tryDevice(source)
            case .file(let path): checked.leaveOut(missingFrom: try CaptureTrial.inspect(path), of: source, logger)
            }
        }
        guard checked.sendsVideo || checked.sendsAudio else {
            throw CaptureError(
                "there is nothing to send: \(self.video) and \(self.audio) give neither pictures nor sound"
            )
        }
        return checked
    }

    /// The same for whoever goes on without what does not work now: only kinds that a file does not have are left out.
    ///
    /// Blocks, for a file up to 15 s; the session's control thread.
    public func reconciled(logger: Logger) -> CameraSettings {
        var settings = self
        for source in CaptureSource.all(self.video, self.audio) {
            guard case .file(let path) = source.kind, let media = try? CaptureTrial.inspect(path) else { continue }
            settings.leaveOut(missingFrom: media, of: source, logger)
        }
        return settings
    }

    private mutating func leaveOut(missingFrom media: MediaFile, of source: CaptureSource, _ logger: Logger) {
        if source.hasVideo, !media.hasVideo {
            logger.notice("the file has no pictures: none are sent", metadata: .tagged([.detail: "\(source)"]))
            self.video = .none
        }
        if source.hasAudio, !media.hasAudio {
            logger.notice("the file has no sound: none is sent", metadata: .tagged([.detail: "\(source)"]))
            self.audio = .none
        }
    }
}

/// Tries what a person named.
enum CaptureTrial {
    /// What is in a file; throws if it cannot be played.
    static func inspect(_ path: String) throws(CaptureError) -> MediaFile {
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw CaptureError("there is no file \(path)")
        }
        guard !isDirectory else { throw CaptureError("\(path) is a directory, not a media file") }
        // A pipe or device cannot be read twice.
        let type = (try? FileManager.default.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
        guard type == .typeRegular || type == .typeSymbolicLink else {
            throw CaptureError("\(path) is not a regular file")
        }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw CaptureError("\(path) cannot be read: permission denied")
        }
        let media: MediaFile
        do {
            media = try MediaFile(inspecting: path)
        } catch {
            throw CaptureError("\(path) cannot be played: \(error.message)")
        }
        guard !media.isStill || media.hasAudio else { throw CaptureError("\(path) is a still picture, not a video") }
        guard media.hasVideo || media.hasAudio else { throw CaptureError("\(path) has neither pictures nor sound") }
        return media
    }

    /// Opens a device and closes it again; throws with what there is instead.
    static func tryDevice(_ source: CaptureSource) throws(CaptureError) {
        do {
            _ = try self.openOnce(source, settings: CameraSettings())
        } catch {
            throw CaptureError("\(source) cannot be opened: \(error.message); \(self.alternatives(to: source))")
        }
    }

    /// The mode to ask a camera for; `nil` if it has none that is usual.
    ///
    /// Opens and closes the device.
    static func openOnce(_ source: CaptureSource, settings: CameraSettings) throws(GStreamerError) -> VideoMode? {
        guard let launch = CaptureLaunch.trial(of: source) else { return nil }
        let complaints = FirstComplaint()
        let pipeline = try Pipeline(launch: launch) { complaints.note($0) }
        defer { pipeline.stop() }
        try CaptureLaunch.open(source, in: pipeline)
        do {
            try pipeline.open()
        } catch {
            throw GStreamerError(error.code, complaints.first ?? error.message)
        }
        guard case .camera = source.kind else { return nil }
        let opener = try pipeline.element(named: "source")
        return VideoMode.nearest(
            width: settings.width,
            height: settings.height,
            framesPerSecond: settings.framesPerSecond
        ) { opener.canGive(caps: $0.caps) }
    }

    /// The devices of that kind that this machine has, as a part of a sentence.
    static func alternatives(to source: CaptureSource) -> String {
        if case .camera = source.kind {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/dev")) ?? []
            let cameras = names.filter { $0.hasPrefix("video") }.sorted().map { "/dev/\($0)" }
            return cameras.isEmpty
                ? "this machine has no /dev/video*" : "this machine has \(cameras.joined(separator: ", "))"
        }
        let listed = FileManager.default.contents(atPath: "/proc/asound/pcm") ?? Data()
        let inputs = String(decoding: listed, as: UTF8.self).split(separator: "\n")
            .filter { $0.contains("capture") }
            .compactMap { line -> String? in
                // For example "00-00: ALC257 Analog : ALC257 Analog : playback 1 : capture 1".
                let parts = line.split(separator: ":", maxSplits: 2)
                let numbers = (parts.first ?? "").split(separator: "-").compactMap { Int($0) }
                guard parts.count > 1, numbers.count == 2 else { return nil }
                return "hw:\(numbers[0]),\(numbers[1]) (\(parts[1].trimmingPrefix(" ")))"
            }
        return inputs.isEmpty
            ? "this machine has no sound card that records" : "this machine has \(inputs.joined(separator: ", "))"
    }
}

/// The first error that a bus told: a state change that fails only says that it did.
final class FirstComplaint: Sendable {
    private let message = Mutex<String?>(nil)

    /// The message, if there was an error.
    var first: String? { self.message.withLock { $0 } }

    /// Takes an event; any thread.
    func note(_ event: BusEvent) {
        guard case .error(_, let text, _) = event else { return }
        self.message.withLock { $0 = $0 ?? text }
    }
}
