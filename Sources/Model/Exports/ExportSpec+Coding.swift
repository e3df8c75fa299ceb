// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension ExportSpec: Codable {
    private enum Key: String, CodingKey {
        case layout, participant, from, to, series, container, size, fps, codec, format, loudness
    }

    /// Reads what is there; what is missing has its default, and so has what this layout does not take.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        func value<Value: Decodable>(_ key: Key) throws -> Value? {
            try values.decodeIfPresent(Value.self, forKey: key)
        }
        let name = try values.decode(Layout.Name.self, forKey: .layout)
        self.init(Layout(name), participant: try value(.participant), series: try value(.series) ?? false)
        self.from = try value(.from).map(Self.time)
        self.to = try value(.to).map(Self.time)
        switch name {
        case .tracks:
            let switches = try decoder.container(keyedBy: Tracks.Switch.self)
            let on = try Tracks.Switch.allCases.filter { try switches.decodeIfPresent(Bool.self, forKey: $0) ?? false }
            self.layout = .tracks(Tracks(container: try value(.container) ?? .mkv, switches: Set(on)))
        case .browser: break
        case .grid:
            var grid = Grid(
                framesPerSecond: try value(.fps),
                codec: try value(.codec),
                container: try value(.container),
                loudness: try value(.loudness)
            )
            // Of another text there is a problem.
            if let size: String = try value(.size) { grid.size = VideoSize(size) ?? VideoSize(width: 0, height: 0) }
            self.layout = .grid(grid)
        case .audio: self.layout = .audio(Audio(format: try value(.format), loudness: try value(.loudness)))
        }
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
