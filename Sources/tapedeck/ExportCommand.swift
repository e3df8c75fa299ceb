// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import Basics
import Export
import Foundation
public import Model
import Rendering
import Storage
import Timeline

/// `tapedeck export`.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Make one file of a recording: every track as received, a grid of all participants, or the audio.",
        discussion: """
            Works on any recording, also on one that was cut off by a crash or is in progress. The layout "tracks" puts \
            every track on one clock and transcodes nothing; "grid" and "audio" decode and encode. Its file is MKV, with a \
            chapter for each event of the call and its chat as a text track, or WebM or MP4 where the codecs allow. For an \
            MP4 of VP8, use --layout grid. A recording that was cut into segments (record --segment) is exported as one \
            with --series.

            What can be read of a damaged recording is exported too; then the exit code is 5, and notes say what is wrong. \
            One that was only cut off gives 0. A recording that another host of the cluster has is exported there, through the \
            running daemon; --output fetches the file.

            Example: tapedeck export recordings/standup/20261121T031226Z-k3v9q2wtb4n50xjc --output call.mkv
            Example: tapedeck export k3v9 --output call.mp4
            Example: tapedeck export k3v9 --participant Alice --from 1m30s --to 00:05:00
            Example: tapedeck export k3v9 --series --from 2h --to 3h
            Example: tapedeck export k3v9 --layout grid --size 1280x720 --output call-grid.mp4
            Example: tapedeck export k3v9 --layout audio --format wav --loudness -23
            """
    )

    @Argument(help: "The recording's id, the beginning of it, or its folder.")
    var id: String

    @OptionGroup var place: RecordingPlaceOptions

    @Option(help: "Layout: tracks (all, not transcoded), grid (all participants in one video), audio (one mix).")
    var layout: ExportSpec.Layout.Name = .tracks

    @Flag(help: "Export the whole series that the recording is a segment of, as call-series.mkv.")
    var series = false

    // Ids of Socket.IO may begin with a minus sign.
    @Option(parsing: .unconditional, help: "Only this participant: id or name, or the beginning of one.")
    var participant: String?

    @Option(help: "Where to begin, from the recording's start: 90s, 1m30s or 00:01:30. Video begins at a keyframe.")
    var from: TimeOffset?

    @Option(help: "Where to end, from the recording's start.")
    var to: TimeOffset?

    @Option(help: "Path of the file. Default: call.mkv in the recording's folder, for a part call-alice-from-90s.mkv.")
    var output: OutputPath?

    @Flag(help: "Replace the file of --output if it exists.")
    var force = false

    @Option(help: "Container: mkv, webm or mp4. Default: from the extension of --output, else mkv.")
    var container: ExportSpec.Container?

    @Flag var switches: [ExportSpec.Tracks.Switch] = []

    @Option(help: "Video size of a grid. Default: 1280x720.")
    var size: String?

    @Option(help: "Frames per second of a grid. Default: 25.")
    var fps: Int?

    @Option(help: "Codec of a grid: h264 (with AAC, MP4 or MKV) or vp8 (with Opus, WebM or MKV).")
    var codec: ExportSpec.Grid.Codec?

    @Option(help: "Format of the audio layout: opus or wav.")
    var format: ExportSpec.Audio.Format?

    // The value begins with a minus sign.
    @Option(
        parsing: .unconditional,
        help: "Target loudness in LUFS. Default: -16 for audio, unchanged for a grid."
    )
    var loudness: Double?

    @OptionGroup var common: CommonOptions

    mutating func validate() throws { _ = try self.spec() }

    mutating func run() async throws {
        try self.output?.check(replaces: self.force)
        let isOfDamaged: Bool
        switch try await self.place.find(self.id) {
        case .here(let folder):
            let report = try self.export(folder, try self.spec())
            try RecordResult(folder: folder, report: report).show(self.common)
            if !self.common.json { for warning in report.warnings { Output.message("note: \(warning)") } }
            isOfDamaged = report.isOfDamaged
        case .shared(let recording, let client):
            let export = try await self.export(recording, client)
            if self.common.json {
                try Output.json(export)
            } else {
                let place = self.output == nil ? export.host.map { " on the host \($0)" } ?? "" : ""
                Output.result(export.output + place)
            }
            isOfDamaged = export.verdict == Certificate.Verdict.damaged.rawValue
        }
        guard !isOfDamaged else {
            throw CommandFailure(.incomplete, "exported, but the recording is damaged: tapedeck verify says how")
        }
    }

    private func export(_ recording: RecordingResource, _ client: DaemonClient) async throws -> SharedExport {
        let spec = try self.spec()
        let lines = LiveLines(self.common.logOutput(), isWanted: !self.common.json)
        defer { lines.end() }
        let progress = ExportProgressBar(lines, spec, output: self.output?.path)
        return try await SharedExport(spec, of: recording, client, to: self.output?.path) { progress.draw($0) }
    }

    private func export(_ folder: RecordingFolder, _ spec: ExportSpec) throws -> ExportReport {
        let lines = LiveLines(self.common.logOutput(), isWanted: !self.common.json)
        defer { lines.end() }
        let progress = ExportProgressBar(lines, spec, output: self.output?.path)
        let interrupts = spec.layout.tracks == nil ? Interrupts() : nil
        interrupts?.abandoning {
            "what was written so far is in a hidden file next to the output, whose name ends in .partial"
        }
        let job = ExportJob(folder, program: Program.name, output: self.output?.path, isStuck: ExportJob.giveUp)
        return try job.run(spec) {
            progress.draw($0)
            guard interrupts?.came != true else {
                throw CommandFailure(.interrupted, "interrupted: nothing was written")
            }
        }
    }

    /// What is asked for, checked.
    private func spec() throws -> ExportSpec {
        let given = [
            ("container", self.container != nil), ("size", self.size != nil), ("fps", self.fps != nil),
            ("codec", self.codec != nil), ("format", self.format != nil), ("loudness", self.loudness != nil),
        ]
        for name in given.filter(\.1).map(\.0) + self.switches.map(\.rawValue) {
            guard let refusal = ExportSpec.refusal(of: name, by: self.layout) else { continue }
            throw ValidationError("\(Self.flag(name)) \(refusal)")
        }
        let spec = ExportSpec(
            try self.layoutWithOptions(),
            participant: self.participant,
            from: self.from?.duration,
            to: self.to?.duration,
            series: self.series
        )
        if let problem = spec.problems.first {
            throw ValidationError("\(Self.flag(problem.option)) \(problem.text(Self.flag))")
        }
        return spec
    }

    private func layoutWithOptions() throws -> ExportSpec.Layout {
        switch self.layout {
        case .tracks:
            let named = try self.kind(ExportSpec.Container.extensionsOfTracks, isGiven: self.container != nil)
            if let container = self.container, let named, container != named {
                throw ValidationError("--container is \(container.rawValue), but the file is named .\(named.rawValue)")
            }
            let container = self.container ?? named ?? .mkv
            return .tracks(.init(container: container, switches: Set(self.switches)))
        case .browser: return .browser
        case .grid:
            let size = self.size.flatMap { VideoSize($0) }
            if let text = self.size, size == nil {
                throw ValidationError("'\(text)' is not a size: write for example 1280x720")
            }
            return .grid(
                .init(
                    size: size,
                    framesPerSecond: self.fps,
                    codec: self.codec,
                    container: try self.kind(ExportSpec.Container.extensions),
                    loudness: self.loudness
                )
            )
        case .audio:
            let named = try self.kind(ExportSpec.Audio.Format.extensions)
            if let format = self.format, let named, format != named {
                throw ValidationError("--format is \(format.rawValue), but the file is named .\(named.rawValue)")
            }
            return .audio(.init(format: self.format ?? named, loudness: self.loudness))
        }
    }

    /// The kind of file that the extension of `output` names; nil without an output.
    ///
    /// - Parameter isGiven: whether an option says it, so that the extension need not.
    private func kind<Kind>(_ extensions: KeyValuePairs<String, Kind>, isGiven: Bool = false) throws -> Kind? {
        guard let output = self.output else { return nil }
        do throws(ValidationError) {
            return try output.kind(extensions, of: "the layout \(self.layout.rawValue)")
        } catch {
            guard isGiven, output.path != "-" else { throw error }
            return nil
        }
    }

    /// An option's flag, by its name in JSON.
    private static func flag(_ name: String) -> String { "--" + name.words(separator: "-") }
}

extension ExportJob {
    /// What is said of a codec that does not return.
    static let stuck = "a decoder or encoder did not return for two minutes: the export was ended"

    /// A codec does not return: nothing can be done about it but to end the process.
    @Sendable static func giveUp(_ files: [String]) {
        for file in files { unlink(file) }
        Output.message(Self.stuck)
        Program.end(.incomplete)
    }
}

extension ExportSpec.Container: ExpressibleByArgument {}
extension ExportSpec.Grid.Codec: ExpressibleByArgument {}
extension ExportSpec.Audio.Format: ExpressibleByArgument {}

extension ExportSpec.Layout.Name: ExpressibleByArgument {
    /// `browser` is for a page, which asks the daemon for it.
    public init?(argument: String) {
        self.init(rawValue: argument)
        if self == .browser { return nil }
    }

    /// For help texts.
    public static var allValueStrings: [String] { [Self.tracks, .grid, .audio].map(\.rawValue) }
}

extension ExportSpec.Tracks.Switch: EnumerableFlag {
    /// For help texts.
    public static func help(for value: Self) -> ArgumentHelp? {
        switch value {
        case .keepDamaged: "Keep video frames that cannot be decoded because of packet loss."
        case .separateTracks: "Export each stream as its own track, also where a sender's source or connection changed."
        case .project: "Also write an OpenTimelineIO project, in which an editor opens all tracks aligned."
        }
    }
}
