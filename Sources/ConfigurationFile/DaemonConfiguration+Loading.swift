// SPDX-License-Identifier: Apache-2.0

extension DaemonConfiguration {
    /// Most bytes of a configuration file.
    public static let maximumBytes = YAMLText.maximumBytes

    /// Reads a configuration file: a regular file of UTF-8 text, at most 1 MiB long.
    ///
    /// Blocks on the disk; a file without an end or a pipe in its place does not block it for ever.
    ///
    /// - Throws: `ConfigurationError` with every problem: `unreadable` if the file could not be read.
    public static func load(
        path: String,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> DaemonConfiguration {
        let text: String
        do {
            text = try BoundedFile.text(path: path, maximumBytes: Self.maximumBytes)
        } catch {
            let problem = ConfigurationProblem(file: path, key: "", message: error.reason)
            throw ConfigurationError(error.isContents ? .invalid : .unreadable, [problem])
        }
        return try Self.parse(text: text, file: path, values: values)
    }

    /// Reads a configuration's text, YAML or JSON.
    ///
    /// A text with nothing in it, as a file is while an editor writes it, is refused; `{}` is every default.
    ///
    /// - Parameter file: The file's name, for messages.
    /// - Throws: `ConfigurationError` with every problem.
    public static func parse(
        text: String,
        file: String? = nil,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> DaemonConfiguration {
        let problems = ProblemList(file: file)
        var reader = YAMLText(problems: problems, values: values)
        let tree = reader.tree(of: text)
        let configuration = tree.map { DaemonConfiguration($0, problems: problems) }
        try problems.check()
        return configuration ?? DaemonConfiguration()
    }
}
