// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Storage

/// Which part of a recording is exported.
public struct ExportSelection: Sendable, Hashable {
    /// Only this participant's tracks: an id or a name, or the beginning of one that no other has; `nil` for
    /// everybody's.
    public var participant: String?
    /// From here on, counted from the recording's first unit; pictures from the last keyframe before.
    public var from: Duration?
    /// Up to here, counted from the recording's first unit.
    public var to: Duration?

    /// Everything, unless said otherwise.
    public init(participant: String? = nil, from: Duration? = nil, to: Duration? = nil) {
        self.participant = participant
        self.from = from
        self.to = to
    }

    /// Whether nothing is left out.
    public var isWhole: Bool { self.participant == nil && self.to == nil && (self.from ?? .zero) == .zero }

    /// What the name of the export's file has behind its layout, so that no part takes the place of another.
    ///
    /// Nothing for everything, else such as `-alice-from-90s-to-100.5s`, fit for a path.
    public var nameSuffix: String {
        guard !self.isWhole else { return "" }
        var parts: [String] = []
        if let participant = self.participant {
            parts.append(Sanitiser.pathComponent(participant, fallback: "participant"))
        }
        if let from = self.from { parts += ["from", Self.seconds(from)] }
        if let to = self.to { parts += ["to", Self.seconds(to)] }
        return parts.map { "-" + $0 }.joined()
    }

    /// Seconds with as many decimals as are needed, to the millisecond.
    private static func seconds(_ duration: Duration) -> String {
        let milliseconds = duration.fileNanoseconds / 1_000_000
        var decimals = String(String(milliseconds % 1000 + 1000).dropFirst())
        while decimals.last == "0" { decimals.removeLast() }
        return "\(milliseconds / 1000)\(decimals.isEmpty ? "" : "." + decimals)s"
    }
}

extension Duration {
    /// Whole nanoseconds from a recording's beginning, within what a file can state.
    var fileNanoseconds: Int64 {
        min(max(self, .zero), .seconds(1 << 30)).nanoseconds
    }
}

extension RecordingContents {
    /// The id of the participant that a person means.
    ///
    /// A whole id counts before a whole name, and both before beginnings.
    func participantID(named text: String) throws(ExportError) -> String {
        var known = self.participants
        for source in self.sources where !known.contains(where: { $0.id == source.participant }) {
            known.append(Manifest.Participant(id: source.participant, name: source.name))
        }
        let ways: [(String) -> Bool] = [{ $0 == text }, { $0.hasPrefix(text) }]
        for fits in ways {
            let byID = known.filter { fits($0.id) }
            let found = byID.count == 1 ? byID : known.filter { fits($0.id) || $0.name.map(fits) ?? false }
            if found.count == 1, let id = found.first?.id { return id }
        }
        let names = known.map { participant in
            participant.name.map { $0 == participant.id ? $0 : "\($0) (\(participant.id))" } ?? participant.id
        }
        let isAmbiguous = known.contains { $0.id.hasPrefix(text) || $0.name?.hasPrefix(text) ?? false }
        throw ExportError(
            .noSuchParticipant,
            (isAmbiguous ? "'\(text)' is the beginning of several participants" : "there is no participant '\(text)'")
                + "; there are: \(names.joined(separator: ", "))"
        )
    }
}
