// SPDX-License-Identifier: Apache-2.0

/// The names that participants go by, for the files that are still to come; of more than 256 the oldest are forgotten.
public struct ParticipantNames: Sendable {
    private static let maximum = 256

    private var names: [String: String] = [:]
    private var order: [String] = []

    /// No names.
    public init() {}

    /// The newest name of a participant, if it sent one.
    public subscript(participant: String) -> String? { self.names[participant] }

    /// Takes a name in place of an older one.
    public mutating func note(_ name: String, of participant: String) {
        if self.names.updateValue(name, forKey: participant) == nil { self.order.append(participant) }
        if self.order.count > Self.maximum { self.names[self.order.removeFirst()] = nil }
    }
}
