// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ConfigurationFile
import Export
import Model
import Rendering
import Storage

/// `tapedeck export`.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Make one file of a recording: every track as received, a grid of all participants, or the audio.",
        discussion: """
            Works on any recording, also on one that was cut off by a crash or is in progress. The layout "tracks" puts
            every track on one clock and transcodes nothing; "grid" and "audio" decode and encode. Its file is MKV, with a
            chapter for each event of the call and its chat as a text track, or WebM or MP4 where the codecs allow.
            A recording that was cut into segments (record --segment) is exported as one with --series.

            What can be read of a damaged recording is exported too; then the exit code is 5, and notes say what is wrong. \
            One that was only cut off gives 0.

            Example: tapedeck export recordings/standup/20261121T031226Z-k3v9q2wtb4n50xjc --output call.mkv
            Example: tapedeck export 20261121T031226Z --output call.mp4
            Example: tapedeck export 20261121T031226Z --participant Alice --from 1m30s --to 00:05:00
            Example: tapedeck export 20261121T031226Z --series --from 2h --to 3h
            Example: tapedeck export 20261121T031226Z --layout grid --size 1280x720 --output call-grid.mp4
            Example: tapedeck export 20261121T031226Z --layout audio --format wav --loudness -23
            """
    )

    @Argument(help: "The recording's id, the beginning of it, or its folder.")
    var id: String

    @Option(help: "Storage directory in which an id is looked up.")
    var directory = "."

    @Option(help: "Layout: tracks (all, not transcoded), grid (all participants in one video), audio (one mix).")
    var layout: ExportLayout = .tracks

    @Flag(help: "Export the whole series that the recording is a segment of, as call-series.mkv.")
    var series = false

    // Ids of Socket.IO may begin with a minus sign.
    @Option(parsing: .unconditional, help: "Only this participant: id or name, or the beginning of one.")
    var participant: String?

    @Option(help: "Where to begin, from the recording's start: 90s, 1m30s or 00:01:30. Video begins at a keyframe.")
    var from: TimeOffset?

    @Option(help: "Where to end, from the recording's start.")
    var to: TimeOffset?

    @Option(help: "Path of the file. Default: call.mkv, for a part call-alice-from-90s.mkv.")
    var output: String?

    @Option(help: "Container: mkv, webm or mp4. Default: from the extension of --output, else mkv.")
    var container: ExportContainer?

    @Flag(help: "Keep frames that cannot be decoded because packets were lost before them.")
    var keepDamaged = false

    @Flag(help: "Export each stream as its own track, also where a sender's source or connection changed.")
    var separateTracks = false

    @Flag(help: "Also write an OpenTimelineIO project, in which an editor opens all tracks aligned.")
    var project = false
    @OptionGroup var rendering: RenderOptions

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        if let to = self.to?.duration, to <= (self.from?.duration ?? .zero) {
            throw ValidationError("--to must be later than --from")
        }
        if self.layout != .tracks,
            self.project || self.keepDamaged || self.separateTracks || self.container != nil
        {
            throw ValidationError(
                "--project, --keep-damaged, --separate-tracks and --container are of the layout tracks"
            )
        }
        if self.series, self.layout != .tracks {
            throw ValidationError(
                "--series is of the layout tracks: grid and audio are made of one segment at a time"
            )
        }
        if self.series, self.project {
            throw ValidationError("--project is of one recording: leave --series out")
        }
        if self.project, self.from != nil || self.to != nil {
            throw ValidationError("--project is of a whole recording: leave --from and --to out")
        }
        try self.rendering.validate(RenderSettings.Layout(rawValue: self.layout.rawValue), output: self.output)
    }

    mutating func run() async throws {
        do {
            let folder = try RecordingFolder.find(storage: self.directory, self.id)
            let report = try self.export(folder)
            let project = self.project ? try ProjectFile.write(report, folder: folder) : nil
            var result = RecordResult(folder: folder, report: report)
            result.project = project
            if self.common.json {
                try Output.json(result)
            } else {
                Output.result(result.output)
                if let project { Output.result(project) }
                Output.result(report.table())
                for warning in report.warnings { Output.message("note: \(warning)") }
            }
            guard !report.isOfDamaged else {
                throw CommandFailure(.incomplete, "exported, but the recording is damaged: tapedeck verify says how")
            }
        } catch {
            throw CommandFailure(error)
        }
    }

    private func export(_ folder: RecordingFolder) throws -> ExportReport {
        let progress = ExportProgressBar(isShown: !self.common.json)
        let selection = ExportSelection(
            participant: self.participant,
            from: self.from?.duration,
            to: self.to?.duration
        )
        guard let layout = RenderSettings.Layout(rawValue: self.layout.rawValue) else {
            return try TracksExport.run(
                self.series ? try ExportSubject.series(of: folder) : .recording(folder),
                selection: selection,
                options: ExportOptions(
                    keepsDamagedUnits: self.keepDamaged,
                    separatesTracks: self.separateTracks,
                    container: self.container?.container ?? ExportOptions.Container(path: self.output),
                    program: Program.name
                ),
                output: self.output
            ) {
                progress.draw($0)
            }
        }
        let interrupts = Interrupts()
        return try Renderer.run(
            folder: folder,
            settings: try self.rendering.settings(layout, output: self.output),
            selection: selection,
            output: self.output,
            isStuck: RenderOptions.giveUp,
            progress: {
                progress.draw($0)
                if interrupts.came { throw CommandFailure(.interrupted, "interrupted: nothing was written") }
            }
        )
    }
}

/// A kind of file on the command line.
enum ExportContainer: String, ExpressibleByArgument, CaseIterable {
    case mkv
    case webm
    case mp4

    /// The same, as the configuration names it.
    init(_ container: ExportConfiguration.Container) {
        switch container {
        case .mkv: self = .mkv
        case .webm: self = .webm
        case .mp4: self = .mp4
        }
    }

    var container: ExportOptions.Container {
        switch self {
        case .mkv: .matroska
        case .webm: .webm
        case .mp4: .mp4
        }
    }
}

/// A layout on the command line.
enum ExportLayout: String, ExpressibleByArgument, CaseIterable {
    case tracks
    case grid
    case audio
}
