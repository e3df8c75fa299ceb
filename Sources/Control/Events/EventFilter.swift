// SPDX-License-Identifier: Apache-2.0

import Model

/// Which events a stream wants: `types=room.joined,recording.*`.
struct EventFilter: Sendable, Hashable {
    /// The kinds wanted.
    let kinds: Set<DaemonEvent.Kind>

    /// Every kind.
    static let all = EventFilter(kinds: Set(DaemonEvent.Kind.allCases))

    private init(kinds: Set<DaemonEvent.Kind>) {
        self.kinds = kinds
    }

    /// Reads a list of kinds and of groups; throws `badRequest` with each name that is neither.
    init(parsing text: String) throws(Problem) {
        var kinds: Set<DaemonEvent.Kind> = []
        var problems: [String] = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            let found = DaemonEvent.Kind.allCases.filter { kind in
                name == "*" || kind.rawValue == name
                    || (name.hasSuffix(".*") && kind.rawValue.hasPrefix(name.dropLast()))
            }
            if found.isEmpty { problems.append("\"\(name.prefix(64))\" is no type of event") }
            kinds.formUnion(found)
        }
        guard problems.isEmpty else {
            throw Problem(.badRequest, "\"types\" names types that do not exist.", problems: Array(problems.prefix(20)))
        }
        self.kinds = kinds
    }
}
