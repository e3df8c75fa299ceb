// SPDX-License-Identifier: Apache-2.0

/// The body of every answer that is an error (RFC 9457).
public struct ProblemDocument: Sendable, Hashable, Codable {
    /// `urn:tapedeck:problem:` and the kind.
    public var type: String
    /// The short summary, the same for every occurrence.
    public var title: String
    /// The status of the answer.
    public var status: Int
    /// One sentence about this very occurrence.
    public var detail: String
    /// Every single thing that is wrong with what was sent; nil if there is no more to say.
    public var problems: [String]?

    /// A document with each part given.
    public init(type: String, title: String, status: Int, detail: String, problems: [String]? = nil) {
        self.type = type
        self.title = title
        self.status = status
        self.detail = detail
        self.problems = problems
    }
}
