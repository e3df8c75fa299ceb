// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import PipelineCatalogue

/// The encoder files of one codec, best first.
struct Encoders: Sendable, Hashable {
    /// The result of a trial.
    enum Trial: Sendable, Hashable {
        /// An element that it requires is not installed.
        case absent
        /// It encoded a few frames.
        case works
        /// It is installed and did not.
        case fails(String)
    }

    /// The codec of the encoder.
    var codec: MediaCodec
    /// The pipeline files, best first.
    var files: [PipelineFile]

    /// The codecs that are tried: video that a camera can send.
    static func all(in pipelines: PipelineCatalogue) -> [Encoders] {
        [MediaCodec.h264, .vp8, .vp9].map { Encoders(codec: $0, files: pipelines.encoders(of: $0.capsName)) }
    }

    /// The effect of having none; nil for kinds that are sent only on request.
    private var meaning: String? {
        switch self.codec {
        case .h264: "H.264 cannot be sent; peers that take VP8 get VP8"
        case .vp8: "VP8 cannot be sent; peers that take H.264 get H.264"
        case .vp9, .opus, .pcmu, .pcma: nil
        }
    }

    private var title: String { self.codec == .h264 ? "H.264" : self.codec.encodingName }

    /// The finding from the trials of all encoders; an encoder without a trial counts as absent.
    ///
    /// - Parameter trials: by the names of the files.
    func finding(_ trials: [String: Trial]) -> Finding {
        var works: [PipelineFile] = []
        var complaints: [String] = []
        for file in self.files {
            switch trials[file.name] ?? .absent {
            case .absent: continue
            case .works: works.append(file)
            case .fails(let reason): complaints.append("\(file.name) fails: \(reason)")
            }
        }
        guard !works.isEmpty else {
            // The best one that runs anywhere.
            let missing = self.files.first { !$0.isProbed }?.requires ?? []
            return Finding(
                .encoders,
                self.title,
                self.meaning == nil ? .ok : .warning,
                (["none"] + complaints).joined(separator: "; "),
                meaning: self.meaning,
                packages: self.meaning == nil ? [] : DebianPackage.packages(missing)
            )
        }
        let names = works.map { $0.isProbed ? "\($0.name) (hardware)" : $0.name }
        return Finding(
            .encoders,
            self.title,
            .ok,
            (["\(names.joined(separator: ", ")) encoded a test frame"] + complaints).joined(separator: "; ")
        )
    }
}
