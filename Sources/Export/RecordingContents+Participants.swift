// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Storage
internal import Timeline

extension RecordingContents {
    /// Participants that an error lists.
    private static let mostListed = 20

    /// The id of the participant that a person means.
    ///
    /// A whole id counts before a whole name, that before a name with its number, and all of them before beginnings.
    func participantID(named text: String) throws(ExportError) -> String {
        let ways: [(Participant) -> Bool] = [
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
    private func list(_ participants: [Participant]) -> String {
        let listed = participants.prefix(Self.mostListed).map { participant in
            let shown = self.shown[participant.id]
            return shown == participant.id ? shown : "\(shown) (\(printableName(participant.id)))"
        }
        let more = participants.count - listed.count
        return listed.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }
}
