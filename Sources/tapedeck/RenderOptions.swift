// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import Basics
import Foundation
public import Model

/// What the layouts that decode and encode take.
struct RenderOptions: ParsableArguments {
    @Option(help: "Video size of a grid. Default: 1280x720.")
    var size: String?

    @Option(help: "Frames per second of a grid. Default: 25.")
    var fps: Int?

    @Option(help: "Codec of a grid: h264 (with AAC, MP4 or MKV) or vp8 (with Opus, WebM or MKV).")
    var codec: RenderSettings.Codec?

    @Option(help: "Format of the audio layout: opus or wav.")
    var format: RenderSettings.SoundFormat?

    // The value begins with a minus sign.
    @Option(
        parsing: .unconditional,
        help: "Target loudness in LUFS. Default: -16 for audio, unchanged for a grid."
    )
    var loudness: Double?

    /// The settings of a layout, checked.
    func settings(_ layout: RenderSettings.Layout, output: String?) throws -> RenderSettings {
        let size = try self.size.map { text in
            guard let size = PictureSize(text) else {
                throw ValidationError("'\(text)' is not a size: write for example 1280x720")
            }
            return size
        }
        do {
            return try RenderSettings(
                layout: layout,
                size: size,
                framesPerSecond: self.fps,
                codec: self.codec,
                format: self.format,
                loudness: self.loudness,
                output: output
            )
        } catch {
            throw ValidationError(error.message)
        }
    }

    /// Complains about what the layout does not take; `nil` is one that decodes nothing.
    func validate(_ layout: RenderSettings.Layout?, output: String?) throws {
        if let layout {
            _ = try self.settings(layout, output: output)
        } else if self.size != nil || self.fps != nil || self.codec != nil || self.format != nil || self.loudness != nil
        {
            throw ValidationError("--size, --fps, --codec, --format and --loudness need --layout grid or audio")
        }
    }

    /// What is said of a codec that does not return.
    static let stuck = "a decoder or encoder did not return for two minutes: the export was ended"

    /// A codec does not return: nothing can be done about it but to end the process.
    @Sendable static func giveUp(_ files: [String]) {
        for file in files { unlink(file) }
        Output.message(Self.stuck)
        Program.end(.incomplete)
    }
}

extension RenderSettings.Codec: ExpressibleByArgument {}
extension RenderSettings.SoundFormat: ExpressibleByArgument {}
