// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import PipelineCatalogue

/// The pipeline of this process that takes an output's packets.
public struct PipelineOutputSettings: Sendable, Hashable {
    /// The file with its values.
    public enum Plan: Sendable, Hashable {
        /// A plan of a file of `output/`.
        case ready(PipelinePlan)
        /// Why there is none, in a sentence without secrets.
        case refused(String)
    }

    /// The plan for the packets.
    public var plan: Plan

    /// A pipeline of a plan.
    public init(_ plan: Plan) {
        self.plan = plan
    }

    /// Whether it takes a kind of media.
    func takes(_ media: MediaKind) -> Bool {
        switch self.plan {
        case .ready(let plan): plan.file.accepts[media] != nil
        case .refused: true
        }
    }

    /// Whether black or silence can replace a kind of media that is not sent.
    func fills(_ media: MediaKind) -> Bool {
        switch self.plan {
        case .ready(let plan): plan.file.accepts[media]?.contains("raw") ?? false
        case .refused: false
        }
    }
}

extension PipelinePlan {
    /// A text, such as what an element says of its failure, without values of the plan that may be secrets: of addresses
    /// only scheme and host are left, of other texts only paths.
    func concealing(_ text: String) -> String {
        var secrets: [(secret: String, shown: String)] = []
        for (name, parameter) in self.file.parameters where parameter.form == .string {
            guard let value = self.text(of: name), value.utf8.count >= 4, !value.hasPrefix("/") else { continue }
            guard let scheme = value.firstRange(of: "://") else {
                secrets.append((value, "•••"))
                continue
            }
            let rest = value[scheme.upperBound...]
            let authority = rest.prefix { !"/?#".contains($0) }
            let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
            secrets.append((value, "\(value[..<scheme.upperBound])\(host)"))
            // Elements say parts of it too: the path, the key in it, the values of the query, name and password.
            let parts = [String(rest.dropFirst(authority.count)), String(authority.dropLast(host.count))]
            for part in parts {
                for piece in [part[...]] + part.split(whereSeparator: { "/?#&=:@".contains($0) })
                where piece.utf8.count >= 4 {
                    secrets.append((String(piece), "•••"))
                }
            }
        }
        // Longer ones first: a piece must not break what it is a piece of.
        return secrets.sorted { ($1.secret.utf8.count, $0.secret) < ($0.secret.utf8.count, $1.secret) }
            .reduce(text) { $0.replacing($1.secret, with: $1.shown) }
    }
}
