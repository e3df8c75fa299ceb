// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Everybody who took part in a recording, in the order in which they joined, by the newest name that each told.
public struct ParticipantRoster: Sendable, Hashable {
    /// The participants.
    public private(set) var participants: [Manifest.Participant]
    private var index: [String: Int] = [:]

    /// Those of a manifest; nobody, if none are given.
    public init(_ participants: [Manifest.Participant] = []) {
        self.participants = participants
        for (place, participant) in participants.enumerated() where self.index[participant.id] == nil {
            self.index[participant.id] = place
        }
    }

    /// The name that a participant told, if it is one of them and told any.
    public func name(of id: String) -> String? { self.index[id].flatMap { self.participants[$0].name } }

    /// Takes a participant, or the newer name of one that is known; without a name the older one stays.
    public mutating func note(_ id: String, name: String?) {
        if let place = self.index[id] {
            self.participants[place].name = name ?? self.participants[place].name
        } else {
            self.index[id] = self.participants.count
            self.participants.append(Manifest.Participant(id: id, name: name))
        }
    }

    /// How people see them.
    public var shown: ShownNames { ShownNames(self.participants.lazy.map { (id: $0.id, name: $0.name) }) }
}
