// SPDX-License-Identifier: Apache-2.0

/// A command as it is sent: with a number that its answer gives back, where a task waits for that.
///
/// In JSON the number is next to the command: `{"mark":{"room":"standup","text":"decision"},"number":7}`.
public struct NumberedCommand: Sendable, Hashable, Codable {
    /// What is to be done.
    public var command: WorkerCommand
    /// What `.commandDone` or `.commandFailed` say again; nil where no task waits.
    public var number: UInt64?

    /// A command with its number.
    public init(_ command: WorkerCommand, number: UInt64? = nil) {
        self.command = command
        self.number = number
    }

    private enum CodingKeys: String, CodingKey {
        case number
    }

    /// Reads both.
    public init(from decoder: any Decoder) throws {
        // A command looks for its own keys only.
        self.command = try WorkerCommand(from: decoder)
        self.number = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(UInt64.self, forKey: .number)
    }

    /// Writes both.
    public func encode(to encoder: any Encoder) throws {
        try self.command.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(self.number, forKey: .number)
    }
}
