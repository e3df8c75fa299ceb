// SPDX-License-Identifier: Apache-2.0

/// The problems of one text, gathered while it is read; used by one call only.
final class ProblemList {
    private let file: String?
    private var problems: [ConfigurationProblem] = []
    private var count = 0

    init(file: String?) {
        self.file = file
    }

    /// Adds a problem.
    func add(
        _ place: SourceNode.Place?,
        _ key: String,
        _ message: String,
        accepted: String? = nil,
        suggestion: String? = nil
    ) {
        self.count += 1
        // Twice as many as are told, so that those told are the first of the text in all but mad cases.
        guard self.problems.count < 2 * ConfigurationError.maximumProblems else { return }
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

    /// Fails with every problem, in the order of the text, if there is one.
    func check(_ code: ConfigurationError.Code = .invalid) throws(ConfigurationError) {
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
        throw ConfigurationError(code, problems)
    }
}
