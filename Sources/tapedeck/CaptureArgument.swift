// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
internal import Basics
import ConfigurationFile
import GStreamer
import Logging
import Media
public import Model
import PipelineCatalogue

/// `NAME` or `NAME:ARGUMENT` of a capture file, or `none`.
struct SourceArgument: ExpressibleByArgument, Sendable {
    /// Nil for `none`.
    var source: MediaSource?

    init?(argument: String) {
        self.source = MediaSource(argument)
        guard self.source != nil || argument == "none" else { return nil }
    }
}

extension PreferredCodec: ExpressibleByArgument {}

extension MediaSource: ExpressibleByArgument {
    /// `NAME` or `NAME:ARGUMENT` of a capture file.
    public init?(argument: String) {
        self.init(argument)
    }
}

/// Where pipeline files are.
struct PipelineOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A folder of pipeline files that override and extend the built-in ones.",
            discussion: "It has folders capture, encode and output. `tapedeck pipelines` lists all.",
            valueName: "directory"
        )
    )
    var pipelines: String?

    /// Every pipeline file; fails with every problem of the folder.
    func catalogue() throws(CommandFailure) -> PipelineCatalogue {
        do throws(ConfigurationError) {
            return try PipelineCatalogue.load(directory: self.pipelines)
        } catch {
            throw CommandFailure(.usage, "the pipeline files have errors\n\(error)")
        }
    }
}

/// Pipeline files and what is set on those that capture.
struct CaptureOptions: ParsableArguments {
    @OptionGroup var files: PipelineOptions

    @Option(
        name: .customLong("parameter"),
        help: ArgumentHelp(
            "Set a parameter of a capture file, for example pattern=ball; may be given several times.",
            valueName: "name=value"
        )
    )
    var parameters: [ParameterArgument] = []

    /// The parameters by name.
    func values() throws -> [String: String] {
        try Dictionary(self.parameters.map { ($0.name, $0.value) }) { _, _ in
            throw ValidationError("--parameter is given twice with one name")
        }
    }
}

/// `NAME=VALUE`.
struct ParameterArgument: ExpressibleByArgument, Sendable {
    var name: String
    var value: String

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        self.name = String(parts[0])
        self.value = String(parts[1])
    }
}

extension SendSpec {
    /// Sends these in place of its captures: several sources as one; throws if two of them give the same kind.
    mutating func take(_ sources: [SourceArgument], from pipelines: PipelineCatalogue) throws {
        (self.video, self.audio) = (nil, nil)
        for source in sources.compactMap(\.source) {
            guard let file = pipelines.file(.capture, source.name) else {
                let known = pipelines.files(.capture).map(\.name).joined(separator: ", ")
                throw ValidationError("there is no capture \"\(source.name)\" to send; there is: \(known)")
            }
            for (media, path) in [(MediaKind.video, \SendSpec.video), (.audio, \SendSpec.audio)]
            where file.gives[media] != nil {
                guard self[keyPath: path] == nil else {
                    throw ValidationError("--send takes one source of video and one of audio")
                }
                self[keyPath: path] = source
            }
        }
    }
}

extension CameraSource {
    /// A camera whose files and devices were opened once; fails before anybody joins a room.
    static func opened(
        _ settings: SendSpec,
        name: String = TestTone.usualName,
        from pipelines: PipelineCatalogue,
        control: ControlThread,
        logger: Logger
    ) async throws -> CameraSource {
        try await control.run("opening what is to be sent", deadline: .seconds(40)) {
            let checked = try settings.checked(from: pipelines, logger: logger)
            let camera = CameraSource(settings: checked, name: name, pipelines: pipelines, logger: logger)
            try camera.open()
            return camera
        }
    }
}
