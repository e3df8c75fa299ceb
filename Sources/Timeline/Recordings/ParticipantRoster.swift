// SPDX-License-Identifier: Apache-2.0

public import Basics

/// The participants of a recording, in the order in which they joined, with the newest name of each.
public struct ParticipantRoster: Sendable, Hashable {
    /// The participants.
    public private(set) var participants: [Participant]
    private var index: [String: Int] = [:]

    /// Those of a manifest; empty, if none are given.
    public init(_ participants: [Participant] = []) {
        self.participants = participants
        for (place, participant) in participants.enumerated() where self.index[participant.id] == nil {
            self.index[participant.id] = place
        }
    }

    /// The name of a participant, if it is one of them and has one.
    public func name(of id: String) -> String? { self.index[id].flatMap { self.participants[$0].name } }

    /// Takes a participant, or the newer name of one that is known; without a name the older one stays.
    public mutating func note(_ id: String, name: String?) {
        if let place = self.index[id] {
            self.participants[place].name = name ?? self.participants[place].name
        } else {
            self.index[id] = self.participants.count
            self.participants.append(Participant(id: id, name: name))
        }
    }

    /// How people see them.
    public var shown: ShownNames { ShownNames(self.participants.lazy.map { (id: $0.id, name: $0.name) }) }
}
