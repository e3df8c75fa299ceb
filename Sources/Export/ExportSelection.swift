// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Storage
internal import Timeline

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
    /// Participants that an error lists.
    private static let mostListed = 20

    /// The id of the participant that a person means.
    ///
    /// A whole id counts before a whole name, that before a name with its number, and all of them before beginnings.
    func participantID(named text: String) throws(ExportError) -> String {
        let ways: [(Manifest.Participant) -> Bool] = [
            { $0.id == text }, { $0.name == text }, { self.shown[$0.id] == text }, { $0.id.hasPrefix(text) },
            { $0.id.hasPrefix(text) || $0.name?.hasPrefix(text) ?? false },
        ]
        let found = ways.lazy.map { self.participants.filter($0) }.first { !$0.isEmpty } ?? []
        if found.count == 1, let id = found.first?.id { return id }
        throw ExportError(
            .noSuchParticipant,
            found.isEmpty
                ? "there is no participant '\(text)'; there are: \(self.list(self.participants))"
                : "'\(text)' may be several participants; give the id of one: \(self.list(found))"
        )
    }

    /// Participants by name, with their ids.
    private func list(_ participants: [Manifest.Participant]) -> String {
        let listed = participants.prefix(Self.mostListed).map { participant in
            let shown = self.shown[participant.id]
            return shown == participant.id ? shown : "\(shown) (\(printableName(participant.id)))"
        }
        let more = participants.count - listed.count
        return listed.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }
}
