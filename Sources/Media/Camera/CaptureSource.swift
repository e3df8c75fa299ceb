// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
public import Model
internal import Observability
internal import PipelineCatalogue

/// One thing that is opened once: its video, its audio, or both.
struct CaptureSource: Sendable, Hashable, CustomStringConvertible {
    var plan: PipelinePlan
    var input: MediaSource
    var hasVideo: Bool
    var hasAudio: Bool

    /// What must be opened; a file that gives both is opened once, so that lips match.
    ///
    /// - Throws: for what no capture file gives, and for parameters that none takes.
    static func all(
        _ settings: SendSpec,
        from pipelines: PipelineCatalogue
    ) throws(CaptureError) -> [CaptureSource] {
        var sources: [CaptureSource] = []
        for case (let media, let input?) in [(MediaKind.video, settings.video), (.audio, settings.audio)] {
            if media == .audio, sources.first?.input == input, sources.first?.plan.file.gives[.audio] != nil {
                sources[0].hasAudio = true
                continue
            }
            let plan = PipelinePlan(try Self.file(for: media, input, pipelines))
            sources.append(
                CaptureSource(plan: plan, input: input, hasVideo: media == .video, hasAudio: media == .audio)
            )
        }
        var unused = Set(settings.parameters.keys)
        for index in sources.indices {
            do throws(PipelineFinding) {
                if let argument = sources[index].input.argument { try sources[index].plan.setArgument(argument) }
                for (name, text) in settings.parameters where sources[index].plan.has(name) {
                    try sources[index].plan.set(name, text)
                    unused.remove(name)
                }
                // What is missing is reported before anything is opened.
                _ = try sources[index].plan.settings()
            } catch {
                throw CaptureError(error.description)
            }
        }
        if let name = unused.sorted().first {
            let known = Set(sources.flatMap { $0.plan.file.parameters.keys }).sorted().joined(separator: ", ")
            throw CaptureError("no source has the parameter \"\(name.prefix(64))\"; there is: \(known)")
        }
        return sources
    }

    /// What is opened of it: no participant sees or hears a device of which everything is muted, so the slate runs in its place.
    func shown(under mutes: CameraMutes, from pipelines: PipelineCatalogue) -> CaptureSource {
        self.isHidden(by: mutes) ? Self.slate(of: self, from: pipelines) ?? self : self
    }

    /// Whether it is a device of which everything is muted.
    func isHidden(by mutes: CameraMutes) -> Bool {
        (self.isCamera || self.isMicrophone) && (!self.hasVideo || mutes.isVideoMuted)
            && (!self.hasAudio || mutes.isAudioMuted)
    }

    /// What is shown while a source is away; `nil` without such a capture.
    static func slate(of source: CaptureSource, from pipelines: PipelineCatalogue) -> CaptureSource? {
        guard let file = pipelines.file(.capture, "slate"), file.missingElements.isEmpty,
            !source.hasVideo || file.gives[.video] != nil, !source.hasAudio || file.gives[.audio] != nil
        else { return nil }
        var slate = source
        slate.plan = PipelinePlan(file)
        return slate
    }

    private static func file(
        for media: MediaKind,
        _ input: MediaSource,
        _ pipelines: PipelineCatalogue
    ) throws(CaptureError) -> PipelineFile {
        let what = media == .video ? "video" : "audio"
        guard let file = pipelines.file(.capture, input.name), file.gives[media] != nil else {
            let known = pipelines.files(.capture).filter { $0.gives[media] != nil }.map(\.name).sorted()
            throw CaptureError("no capture \"\(input.name)\" gives \(what); there is: \(known.joined(separator: ", "))")
        }
        return file
    }

    /// Whether it gives something of these kinds.
    func gives(anyOf kinds: Set<MediaKind>) -> Bool {
        self.hasVideo && kinds.contains(.video) || self.hasAudio && kinds.contains(.audio)
    }

    /// Whether it is open while a participant takes these kinds: files that belong together stay together.
    func isNeeded(for kinds: Set<MediaKind>) -> Bool {
        !kinds.isEmpty && (self.isFile || self.gives(anyOf: kinds))
    }

    /// What patience to have with it.
    var kind: CaptureLife.Kind {
        if self.isFile { return .file }
        return self.isCamera || self.isMicrophone ? .device : .stream
    }

    /// Whether it must be read at the pace of the clock, and starts over when it ends.
    var isFile: Bool { !self.plan.file.isLive }

    /// Whether a Video4Linux device is opened.
    var isCamera: Bool { self.plan.file.requires.contains("v4l2src") }

    /// Whether a sound card is opened.
    var isMicrophone: Bool { self.plan.file.requires.contains("alsasrc") }

    /// Whether it opens what it reads only when it is about to play.
    var opensLate: Bool { self.plan.file.requires.contains("ximagesrc") }

    /// For messages, for example `camera /dev/video0`; without the password of an address.
    var description: String {
        let kind =
            switch self.input.name {
            case "test": "test source"
            case "v4l2": "camera"
            case "alsa": "microphone"
            default: self.input.name
            }
        return [kind, self.input.argument.map(MediaSource.withoutSecrets)].compactMap { $0 }.joined(separator: " ")
    }
}

extension MediaSource {
    /// The text that is read, without the password that an address may hold.
    public var shown: String { Self.withoutSecrets(self.description) }

    fileprivate static func withoutSecrets(_ text: String) -> String {
        text.contains("://") ? Redaction.url(text) : text
    }
}
