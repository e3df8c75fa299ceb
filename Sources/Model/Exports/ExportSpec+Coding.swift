// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension ExportSpec: Codable {
    private enum Key: String, CodingKey {
        case layout, participant, from, to, series, container, size, fps, codec, format, loudness
    }

    /// Reads what is there; what is missing has its default, and so has what this layout does not take.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        self.init(Layout(try values.decode(Layout.Name.self, forKey: .layout)))
        switch self.layout {
        case .tracks(var tracks):
            let switches = try decoder.container(keyedBy: Tracks.Switch.self)
            tracks.switches = try Set(
                Tracks.Switch.allCases.filter { try switches.decodeIfPresent(Bool.self, forKey: $0) ?? false }
            )
            try values.read(.container, into: &tracks.container)
            self.layout = .tracks(tracks)
        case .browser: break
        case .grid:
            let size = try values.decodeIfPresent(String.self, forKey: .size)
            guard let size = size.map({ PictureSize($0) }) ?? Grid().size else {
                throw DecodingError.dataCorruptedError(forKey: .size, in: values, debugDescription: "no size")
            }
            self.layout = .grid(
                Grid(
                    size: size,
                    framesPerSecond: try values.decodeIfPresent(Int.self, forKey: .fps),
                    codec: try values.decodeIfPresent(Grid.Codec.self, forKey: .codec),
                    container: try values.decodeIfPresent(Container.self, forKey: .container),
                    loudness: try values.decodeIfPresent(Double.self, forKey: .loudness)
                )
            )
        case .audio:
            self.layout = .audio(
                Audio(
                    format: try values.decodeIfPresent(Audio.Format.self, forKey: .format),
                    loudness: try values.decodeIfPresent(Double.self, forKey: .loudness)
                )
            )
        }
        self.participant = try values.decodeIfPresent(String.self, forKey: .participant)
        self.from = try values.decodeIfPresent(Double.self, forKey: .from).map(Self.time)
        self.to = try values.decodeIfPresent(Double.self, forKey: .to).map(Self.time)
        try values.read(.series, into: &self.series)
    }

    /// Writes what is asked for; times are in seconds.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(self.layout.name, forKey: .layout)
        switch self.layout {
        case .tracks(let tracks):
            var switches = encoder.container(keyedBy: Tracks.Switch.self)
            for name in tracks.switches { try switches.encode(true, forKey: name) }
            try values.encode(tracks.container, forKey: .container)
        case .browser: break
        case .grid(let grid):
            try values.encode("\(grid.size)", forKey: .size)
            try values.encode(grid.framesPerSecond, forKey: .fps)
            try values.encode(grid.codec, forKey: .codec)
            try values.encode(grid.container, forKey: .container)
            try values.encodeIfPresent(grid.loudness, forKey: .loudness)
        case .audio(let audio):
            try values.encode(audio.format, forKey: .format)
            try values.encode(audio.loudness, forKey: .loudness)
        }
        try values.encodeIfPresent(self.participant, forKey: .participant)
        try values.encodeIfPresent(self.from?.seconds, forKey: .from)
        try values.encodeIfPresent(self.to?.seconds, forKey: .to)
        if self.series { try values.encode(true, forKey: .series) }
    }
}
