// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import GStreamer
import Logging
public import Media

extension VideoInput: ExpressibleByArgument {
    /// `test`, `v4l2:/dev/video0`, `file:PATH` or `none`.
    public init?(argument: String) {
        self.init(argument)
    }
}

extension AudioInput: ExpressibleByArgument {
    /// `test`, `alsa:default`, `file:PATH` or `none`.
    public init?(argument: String) {
        self.init(argument)
    }
}

/// What the recorder sends into the room: a source of pictures, of sound, or of both.
struct SentSource: ExpressibleByArgument, Sendable {
    var video: VideoInput
    var audio: AudioInput

    init?(argument: String) {
        let video = VideoInput(argument)
        let audio = AudioInput(argument)
        guard video != nil || audio != nil else { return nil }
        self.video = video ?? .none
        self.audio = audio ?? .none
    }

    /// Several sources as one; throws if two of them give the same kind.
    static func settings(_ sources: [SentSource]) throws -> CameraSettings? {
        let videos = sources.map(\.video).filter { $0 != .none }
        let audios = sources.map(\.audio).filter { $0 != .none }
        guard videos.count <= 1, audios.count <= 1 else {
            throw ValidationError("--send takes one source of pictures and one of sound")
        }
        guard !videos.isEmpty || !audios.isEmpty else { return nil }
        var settings = CameraSettings()
        settings.video = videos.first ?? .none
        settings.audio = audios.first ?? .none
        return settings
    }
}

/// Composition: from what was named on the command line to a camera.
enum CaptureArgument {
    /// A camera whose files and devices were opened once; fails before anybody joins a room.
    static func camera(
        _ settings: CameraSettings,
        control: ControlThread,
        logger: Logger
    ) async throws -> CameraSource {
        let checked = try await control.run("opening what is to be sent", deadline: .seconds(40)) {
            try settings.checked(logger: logger)
        }
        return CameraSource(settings: checked, logger: logger)
    }
}
