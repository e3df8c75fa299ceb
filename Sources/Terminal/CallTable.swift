// SPDX-License-Identifier: Apache-2.0

/// A table of a call that is being recorded: a few figures, and one line for each participant.
public struct CallTable: Sendable, Hashable {
    /// The audio of a participant.
    public enum Audio: Sendable, Hashable {
        /// There is none.
        case none
        /// The sender does not say how loud it is.
        case unmeasured
        /// Nothing is heard.
        case silent
        /// The mean of the last second in dBov, -127 to 0.
        case decibels(Double)
    }

    /// One participant.
    public struct Person: Sendable, Hashable {
        /// The name that is shown.
        public var name: String
        /// Whether the participant is in the room.
        public var isHere: Bool
        /// Codecs of the tracks, each once.
        public var codecs: [String] = []
        /// Video size in pixels, as `1280x720`; nil without video.
        public var size: String?
        /// The present bit rate; nil without tracks.
        public var bitsPerSecond: Double?
        /// Packets that never came.
        public var lostPackets: UInt64 = 0
        /// How loud it is.
        public var audio = Audio.none

        /// A participant of whom nothing came yet.
        public init(name: String, isHere: Bool) {
            self.name = name
            self.isHere = isHere
        }
    }

    /// Tapedeck's present activity, such as `recording`.
    public var state: String
    /// Seconds since the first media; nil before.
    public var elapsedSeconds: Double?
    /// Seconds until the recording stops; nil if only a person stops it.
    public var remainingSeconds: Double?
    /// Bytes in the recording's files.
    public var bytes: Int64 = 0
    /// Free bytes on the disk; nil if they are not known.
    public var freeBytes: Int64?
    /// The effect of Ctrl-C.
    public var stop: String
    /// The participants in the order in which they came.
    public var people: [Person] = []

    /// A table without figures and participants.
    public init(state: String, stop: String) {
        self.state = state
        self.stop = stop
    }

    /// Free bytes below which the figure is shown in yellow.
    private static let littleSpace: Int64 = 2_000_000_000
    /// Level from which a participant is shown as speaking.
    private static let speechDecibels = -50.0
    private static let narrowestName = 10
    private static let widestName = 40
    private static let gap = 2

    /// The columns behind the name, from left to right.
    private enum Column: String, CaseIterable {
        case codec, size, rate, lost, audio

        var width: Int {
            switch self {
            case .codec, .size, .rate: 9
            case .lost: 5
            case .audio: 7
            }
        }

        /// Which go into a narrow terminal first.
        static let byImportance: [Self] = [.audio, .rate, .lost, .codec, .size]
    }

    /// The table on a terminal of that size, where every line fits; one row is the cursor's.
    public func lines(columns: Int, rows: Int) -> [TerminalLine] {
        let space = max(1, rows - 1)
        var lines = Array(self.figures(columns).prefix(max(1, space / 2)))
        var left = space - lines.count
        guard left > 0, !self.people.isEmpty else { return lines }
        let people = self.people.filter(\.isHere) + self.people.filter { !$0.isHere }
        let layout = self.layout(columns)
        if left > 2 || left > people.count {
            let titles = layout.others.map { Self.cell($0.rawValue.uppercased(), $0) }.joined()
            lines.append(TerminalLine([.init("NAME".fitted(to: layout.name) + titles, .faint)], columns: columns))
            left -= 1
        }
        let shown = people.count <= left ? people : Array(people.prefix(left - 1))
        lines += shown.map { self.line(of: $0, layout, columns) }
        let others = people.count - shown.count
        if others > 0 {
            let text = shown.isEmpty ? "\(others) participants" : "+ \(others) more"
            lines.append(TerminalLine([.init(text, .faint)], columns: columns))
        }
        return lines
    }

    /// The figures above the table, in as many lines as they need.
    private func figures(_ columns: Int) -> [TerminalLine] {
        let isRecording = self.elapsedSeconds != nil
        let clock = self.elapsedSeconds.map { " \(ReadableText.clock($0))" } ?? ""
        var pieces: [TerminalLine.Piece] = [.init(self.state + clock, isRecording ? .red : .bold)]
        if let remaining = self.remainingSeconds { pieces.append(.init("\(ReadableText.clock(remaining)) left")) }
        pieces.append(.init(self.stop, .bold))
        if isRecording { pieces.append(.init(ReadableText.bytes(self.bytes))) }
        if let free = self.freeBytes {
            pieces.append(.init("\(ReadableText.bytes(free)) free", free < Self.littleSpace ? .yellow : .plain))
        }
        var lines: [[TerminalLine.Piece]] = []
        var width = 0
        for piece in pieces {
            width += Self.gap + piece.text.columns
            if lines.isEmpty || width > columns {
                lines.append([piece])
                width = piece.text.columns
            } else {
                lines[lines.count - 1] += [.init("  "), piece]
            }
        }
        return lines.map { TerminalLine($0, columns: columns) }
    }

    /// The width of names, and the columns for which there is room.
    private func layout(_ columns: Int) -> (name: Int, others: [Column]) {
        let longest = max("NAME".columns, self.people.map { $0.name.shown.columns }.max() ?? 0)
        var left = columns - min(Self.narrowestName, longest)
        var chosen: Set<Column> = []
        for column in Column.byImportance where left >= Self.gap + column.width {
            chosen.insert(column)
            left -= Self.gap + column.width
        }
        let others = chosen.reduce(0) { $0 + Self.gap + $1.width }
        let name = max(1, min(longest, Self.widestName, columns - others))
        return (name, Column.allCases.filter { chosen.contains($0) })
    }

    private static func cell(_ text: String, _ column: Column) -> String {
        String(repeating: " ", count: Self.gap) + text.fitted(to: column.width)
    }

    private func line(of person: Person, _ layout: (name: Int, others: [Column]), _ columns: Int) -> TerminalLine {
        let name = person.name.shown.fitted(to: layout.name)
        var pieces = [TerminalLine.Piece(name, person.isHere ? .plain : .faint)]
        for column in layout.others {
            let (text, style) = Self.content(of: column, person)
            pieces.append(.init(Self.cell(text, column), person.isHere ? style : .faint))
        }
        return TerminalLine(pieces, columns: columns)
    }

    private static func content(of column: Column, _ person: Person) -> (String, TerminalLine.Style) {
        switch column {
        case .codec: (person.codecs.isEmpty ? "-" : person.codecs.joined(separator: " "), .plain)
        case .size: (person.size ?? "-", .plain)
        case .rate: (person.isHere ? person.bitsPerSecond.map(ReadableText.rate) ?? "-" : "left", .plain)
        case .lost where person.bitsPerSecond == nil: ("-", .plain)
        case .lost: ("\(person.lostPackets)", person.lostPackets > 0 ? .yellow : .plain)
        case .audio:
            switch person.audio {
            case .none: ("-", .plain)
            case .unmeasured: ("on", .plain)
            case .silent: ("silent", .plain)
            case .decibels(let level):
                ("\(Int(max(-127, min(0, level)).rounded())) dB", level > Self.speechDecibels ? .green : .plain)
            }
        }
    }
}
