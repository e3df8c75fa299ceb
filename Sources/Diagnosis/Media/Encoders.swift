// SPDX-License-Identifier: Apache-2.0

/// The encoders of one codec, best first.
struct Encoders: Sendable, Hashable {
    /// Whether it runs on a graphics card or the processor.
    enum Kind: Sendable, Hashable {
        case hardware
        case software
    }

    /// One element that encodes.
    struct Encoder: Sendable, Hashable {
        var element: String
        var kind: Kind
    }

    /// What came of trying one.
    enum Trial: Sendable, Hashable {
        /// It is not installed.
        case absent
        /// It encoded a few frames.
        case works
        /// It is installed and did not.
        case fails(String)
    }

    /// The codec's usual name.
    var codec: String
    /// Best first.
    var encoders: [Encoder]
    /// The packages that bring the software encoders.
    var packages: [String]
    /// What does not work without any.
    var meaning: String?

    init(_ codec: String, hardware: [String], software: [String], packages: [String], meaning: String?) {
        self.codec = codec
        self.encoders =
            hardware.map { Encoder(element: $0, kind: .hardware) }
            + software.map { Encoder(element: $0, kind: .software) }
        self.packages = packages
        self.meaning = meaning
    }

    /// Every encoder for which `Pipelines/encode` has a file.
    static let all = [
        Encoders(
            "H.264",
            hardware: ["v4l2h264enc", "vah264enc", "nvh264enc"],
            software: ["x264enc", "openh264enc"],
            packages: ["gstreamer1.0-plugins-ugly"],
            meaning: "H.264 cannot be sent; peers that take VP8 get VP8"
        ),
        Encoders(
            "VP8",
            hardware: [],
            software: ["vp8enc"],
            packages: ["gstreamer1.0-plugins-good"],
            meaning: "VP8 cannot be sent; peers that take H.264 get H.264"
        ),
        Encoders(
            "VP9",
            hardware: [],
            software: ["vp9enc"],
            packages: ["gstreamer1.0-plugins-good"],
            meaning: nil
        ),
    ]

    /// What trying each encoder says; an encoder without a trial counts as absent.
    func finding(_ trials: [String: Trial]) -> Finding {
        var works: [Encoder] = []
        var complaints: [String] = []
        for encoder in self.encoders {
            switch trials[encoder.element] ?? .absent {
            case .absent: continue
            case .works: works.append(encoder)
            case .fails(let reason): complaints.append("\(encoder.element) fails: \(reason)")
            }
        }
        guard !works.isEmpty else {
            return Finding(
                .encoders,
                self.codec,
                self.meaning == nil ? .ok : .warning,
                (["none"] + complaints).joined(separator: "; "),
                meaning: self.meaning,
                packages: self.meaning == nil ? [] : self.packages
            )
        }
        let names = works.map { $0.kind == .hardware ? "\($0.element) (hardware)" : $0.element }
        return Finding(
            .encoders,
            self.codec,
            .ok,
            (["\(names.joined(separator: ", ")) encoded a test picture"] + complaints).joined(separator: "; ")
        )
    }
}
