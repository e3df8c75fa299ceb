// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
internal import GStreamer
internal import Model
internal import PipelineCatalogue
internal import Synchronization

/// Tries what a person named.
enum CaptureTrial {
    /// The path that a source reads from; nil if it reads no file.
    static func path(of source: CaptureSource) -> String? {
        source.plan.file.argument == "path" ? source.input.argument : nil
    }

    /// Whether there is a file that can be read; throws if not.
    static func checkFile(_ path: String) throws(CaptureError) {
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
    }

    /// What is in a file; throws if it cannot be played.
    static func inspect(_ path: String) throws(CaptureError) -> MediaFile {
        let media: MediaFile
        do {
            media = try MediaFile(inspecting: path)
        } catch {
            throw CaptureError("\(path) cannot be played: \(error.message)")
        }
        guard !media.isStill || media.hasAudio else {
            throw CaptureError("\(path) is an image, not a video: image:\(path) shows it")
        }
        guard media.hasVideo || media.hasAudio else { throw CaptureError("\(path) has neither video nor audio") }
        return media
    }

    /// Opens the devices of a source and closes them again; throws with what there is instead, for one that hangs after
    /// `limit`.
    static func open(_ source: CaptureSource) throws(CaptureError) {
        // One that hangs keeps its thread.
        let reason = Mutex<String?>("it has not answered for \(Self.limit.components.seconds) s")
        let ended = DispatchSemaphore(value: 0)
        ControlThread(name: "trial").enqueue {
            let failure: String?
            do throws(GStreamerError) {
                _ = try Self.opened(source)
                failure = nil
            } catch {
                failure = error.message
            }
            reason.withLock { $0 = failure }
            ended.signal()
        }
        _ = ended.wait(timeout: .now() + .seconds(Int(Self.limit.components.seconds)))
        guard let reason = reason.withLock({ $0 }) else { return }
        let instead = self.alternatives(to: source).map { "; \($0)" } ?? ""
        throw CaptureError("\(source) cannot be opened: \(reason)\(instead)")
    }

    /// How long a device may take to open that a client has just named.
    private static let limit = Duration.seconds(10)

    /// The mode to ask a camera for; `nil` for what has no modes, or was given one.
    ///
    /// Opens and closes the device.
    /// - Throws: if it cannot be opened, or gives nothing that can be used.
    static func mode(of source: CaptureSource, settings: SendSpec) throws(GStreamerError) -> VideoMode? {
        guard source.hasVideo, source.plan.has(CapturePipeline.mode), settings.parameters[CapturePipeline.mode] == nil,
            let text = try self.opened(source)
        else { return nil }
        return VideoMode.nearest(
            width: settings.width,
            height: settings.height,
            framesPerSecond: settings.framesPerSecond,
            of: OfferedMode.all(in: text)
        )
    }

    /// Opens and closes a source's devices; what its opener can give, if it has an element of that name.
    private static func opened(_ source: CaptureSource) throws(GStreamerError) -> String? {
        let complaints = FirstError()
        let pipeline = try CapturePipeline.trial(of: source) { complaints.note($0) }
        defer { pipeline.stop() }
        do {
            if source.opensLate { try pipeline.pause() } else { try pipeline.open() }
        } catch {
            throw GStreamerError(error.code, complaints.first ?? error.message)
        }
        return try? pipeline.element(named: CapturePipeline.opener).offeredCaps
    }

    /// The devices of that kind that this machine has, as a part of a sentence; nil for what is no device.
    static func alternatives(to source: CaptureSource) -> String? {
        if source.isCamera {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/dev")) ?? []
            let known = Dictionary(CameraDevice.all().map { ($0.path, $0.name) }) { first, _ in first }
            let cameras = names.filter { $0.hasPrefix("video") }.sorted().map { name in
                let path = "/dev/\(name)"
                return known[path].map { "\(path) (\($0))" } ?? path
            }
            return cameras.isEmpty
                ? "this machine has no /dev/video*" : "this machine has \(cameras.joined(separator: ", "))"
        }
        guard source.isMicrophone else { return nil }
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
            ? "this machine has no audio device that records" : "this machine has \(inputs.joined(separator: ", "))"
    }
}
