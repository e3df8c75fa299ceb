// SPDX-License-Identifier: Apache-2.0

/// The problems of one text, gathered while it is read; used by one call only.
final class ProblemList {
    private let file: String?
    private var problems: [ConfigurationProblem] = []
    private var count = 0
    /// The text's tree, once it is read: it has the places of keys for problems that are found without it.
    var tree: SourceNode?
    private lazy var places: [String: SourceNode.Place] = self.tree?.places ?? [:]

    init(file: String?) {
        self.file = file
    }

    /// Whether a key that begins so has a problem.
    func concern(keysBeginningWith prefix: String) -> Bool { self.concern { $0.hasPrefix(prefix) } }

    /// Whether a key that is meant has a problem.
    func concern(_ isMeant: (String) -> Bool) -> Bool { self.problems.contains { isMeant($0.key) } }

    /// Adds a problem.
    func add(
        _ place: SourceNode.Place?,
        _ key: String,
        _ message: String,
        accepted: String? = nil,
        suggestion: String? = nil
    ) {
        self.count += 1
        // Twice as many as are reported, so that those are the first of the text in all but mad cases.
        guard self.problems.count < 2 * ConfigurationError.maximumProblems else { return }
        let place = place ?? self.place(ofKey: key)
        self.problems.append(
            ConfigurationProblem(
                file: self.file,
                line: place?.line,
                column: place?.column,
                key: key,
                message: message,
                accepted: accepted,
                suggestion: suggestion
            )
        )
    }

    /// Where a key is; where the mapping is that it is missing in if it is not there.
    func place(ofKey key: String) -> SourceNode.Place? {
        guard self.tree != nil else { return nil }
        var rest = key[...]
        while !rest.isEmpty {
            if let place = self.places[String(rest)] { return place }
            rest = rest[..<(rest.lastIndex { $0 == "." || $0 == "[" } ?? rest.startIndex)]
        }
        return nil
    }

    /// Fails with every problem, in the order of the text, if there is one.
    ///
    /// - Parameter other: problems elsewhere, which follow them.
    func check(
        _ code: ConfigurationError.Code = .invalid,
        followedBy other: ConfigurationError? = nil
    ) throws(ConfigurationError) {
        guard self.count > 0 else { return }
        var problems = self.problems.enumerated().sorted { left, right in
            let places = (left.element.line ?? 0, left.element.column ?? 0, left.offset)
            return places < (right.element.line ?? 0, right.element.column ?? 0, right.offset)
        }.map(\.element)
        if self.count > ConfigurationError.maximumProblems {
            problems = Array(problems.prefix(ConfigurationError.maximumProblems - 1))
            problems.append(
                ConfigurationProblem(file: self.file, key: "", message: "\(self.count - problems.count) more problems")
            )
        }
        problems += (other?.problems ?? []).prefix(ConfigurationError.maximumProblems - problems.count)
        throw ConfigurationError(code, problems)
    }
}
