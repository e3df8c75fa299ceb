// SPDX-License-Identifier: Apache-2.0

/// Why a configuration was refused: every problem that it has.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The file could not be read; trying again may help.
        case unreadable
        /// What was read is wrong; the operator must change it.
        case invalid
    }

    /// Most problems that are reported of one text; the last one says that there are more.
    public static let maximumProblems = 200

    /// The kind of failure.
    public var code: Code
    /// Every problem, in the order of the text; at least one, at most `maximumProblems`.
    public var problems: [ConfigurationProblem]

    /// An error with each part given.
    public init(_ code: Code, _ problems: [ConfigurationProblem]) {
        self.code = code
        self.problems = problems
    }

    /// Whether the same attempt may succeed later.
    public var isRetriable: Bool { self.code == .unreadable }

    /// One problem a line.
    public var description: String {
        self.problems.map(\.description).joined(separator: "\n")
    }
}
