// SPDX-License-Identifier: Apache-2.0

/// One thing that is wrong in a configuration: where, what was found, what is accepted.
///
/// No part of it holds a value that came from the environment or from a file of secrets, or a value of a key that is
/// secret.
public struct ConfigurationProblem: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The file, as it was named; `nil` for a text without a file.
    public var file: String?
    /// Line, from 1; `nil` if the problem has no place.
    public var line: Int?
    /// Column in Unicode scalars, from 1; `nil` if the problem has no place.
    public var column: Int?
    /// The key, as `rooms.standup.record.video` or `webhooks[0].url`; empty for the whole text.
    public var key: String
    /// What is wrong, with what was found; no full stop.
    public var message: String
    /// What would be right, if that can be said.
    public var accepted: String?
    /// A key or word that is spelt alike.
    public var suggestion: String?

    /// A problem with each part given.
    public init(
        file: String? = nil,
        line: Int? = nil,
        column: Int? = nil,
        key: String,
        message: String,
        accepted: String? = nil,
        suggestion: String? = nil
    ) {
        self.file = file
        self.line = line
        self.column = column
        self.key = key
        self.message = message
        self.accepted = accepted
        self.suggestion = suggestion
    }

    /// The problem in one line.
    ///
    /// For example `tapedeck.yaml:7:5: rooms.standup.jion: unknown key; did you mean "join"?`
    public var description: String {
        var place = self.file ?? ""
        if let line = self.line, let column = self.column {
            place += place.isEmpty ? "line \(line), column \(column)" : ":\(line):\(column)"
        }
        var text = [place, self.key, self.message].filter { !$0.isEmpty }.joined(separator: ": ")
        if let suggestion = self.suggestion { text += "; did you mean \"\(suggestion)\"?" }
        if let accepted = self.accepted { text += "; accepted: \(accepted)" }
        return text
    }
}
