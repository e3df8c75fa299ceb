// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The line format between supervisor and worker.
///
/// One JSON object a line, ended by a line feed; a line is at most `maximumLength` bytes. Both sides are always the
/// same binary, but after an upgrade a supervisor may meet a worker of another version: the version in `.ready` tells.
public enum WorkerLine {
    /// The version that this code speaks.
    public static let protocolVersion = 1
    /// Longest line in bytes, without its line feed; a thumbnail is the longest thing sent.
    public static let maximumLength = 1 << 20

    /// A message as one line with its line feed.
    public static func encode(_ message: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var line = try encoder.encode(message)
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// The message of a line, without its line feed.
    public static func decode<Message: Decodable>(_ type: Message.Type, from line: Data) throws -> Message {
        try JSONDecoder().decode(type, from: line)
    }
}
