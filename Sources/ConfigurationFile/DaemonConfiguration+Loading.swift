// SPDX-License-Identifier: Apache-2.0

public import PipelineCatalogue

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
        try Self.parse(text: try Self.text(path: path), file: path, values: values)
    }

    /// Reads from a configuration file where its daemon is found and where it stores.
    ///
    /// Any other mistake is the daemon's matter, such as a reference to its environment that this process does not have; a
    /// token behind one is left out. Blocks as `load` does.
    ///
    /// - Throws: `ConfigurationError` with every problem if these places are not known.
    public static func loadPlaces(
        path: String,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> (api: APIConfiguration, storage: StorageConfiguration) {
        let problems = ProblemList(file: path)
        let (tree, configuration) = Self.read(try Self.text(path: path), problems, values)
        let places = ["api.listen", "api.tls", "storage.directory"]
        let isUnknown = problems.concern { key in
            ["", "api", "storage"].contains(key) || places.contains { key.hasPrefix($0) }
        }
        if tree == nil || isUnknown { try problems.check() }
        return (configuration.api, configuration.storage)
    }

    /// Reads from a configuration file in which cluster its daemon is, or that it is in none.
    ///
    /// Blocks as `load` does.
    ///
    /// - Throws: `ConfigurationError` with every problem if that is not known.
    public static func loadCluster(
        path: String,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> ClusterConfiguration? {
        let problems = ProblemList(file: path)
        let (tree, configuration) = Self.read(try Self.text(path: path), problems, values)
        if tree == nil || problems.concern({ $0.isEmpty || $0.hasPrefix(ClusterKeys.section) }) { try problems.check() }
        return configuration.cluster
    }

    /// Reads a configuration file as `load` does, and the pipeline files that it names.
    ///
    /// - Throws: `ConfigurationError` with every problem: those of the configuration in the order of its text, then those
    ///   of the pipeline files.
    public static func loadWithPipelines(
        path: String,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> (configuration: DaemonConfiguration, pipelines: PipelineCatalogue) {
        try Self.parseWithPipelines(text: try Self.text(path: path), file: path, values: values)
    }

    static func text(path: String) throws(ConfigurationError) -> String {
        try Self.text(of: path) { () throws(BoundedFile.Failure) in
            try BoundedFile.text(path: path, maximumBytes: Self.maximumBytes)
        }
    }

    /// A text from where `read` has it; `file` is the name of that place, for messages.
    static func text(
        of file: String,
        _ read: () throws(BoundedFile.Failure) -> String
    ) throws(ConfigurationError) -> String {
        do throws(BoundedFile.Failure) {
            return try read()
        } catch {
            let problem = ConfigurationProblem(file: file, key: "", message: error.reason)
            throw ConfigurationError(error.isContents ? .invalid : .unreadable, [problem])
        }
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
        let (_, configuration) = Self.read(text, problems, values)
        try problems.check()
        return configuration
    }

    /// The tree of a text, if it has one, and what it says; where it says nothing, or nothing right, defaults.
    private static func read(
        _ text: String,
        _ problems: ProblemList,
        _ values: any ValueSource
    ) -> (tree: SourceNode?, configuration: DaemonConfiguration) {
        var reader = YAMLText(problems: problems, values: values)
        let tree = reader.tree(of: text)
        return (tree, tree.map { DaemonConfiguration($0, problems: problems) } ?? DaemonConfiguration())
    }

    /// Gives problems of a configuration file that were found without its text the places of their keys; blocks on the disk.
    public static func located(_ problems: [ConfigurationProblem], in path: String) -> [ConfigurationProblem] {
        let isComplete = problems.allSatisfy { $0.line != nil }
        guard !isComplete, let text = try? Self.text(path: path) else { return problems }
        let list = ProblemList(file: path)
        list.tree = Self.read(text, list, ProcessValueSource()).tree
        return problems.map { problem in
            guard problem.file == path, problem.line == nil, let place = list.place(ofKey: problem.key) else {
                return problem
            }
            var problem = problem
            (problem.line, problem.column) = (place.line, place.column)
            return problem
        }
    }

    /// Reads a configuration's text as `parse` does, and the pipeline files that it names.
    ///
    /// - Throws: `ConfigurationError` with every problem.
    public static func parseWithPipelines(
        text: String,
        file: String? = nil,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> (configuration: DaemonConfiguration, pipelines: PipelineCatalogue) {
        let problems = ProblemList(file: file)
        let (tree, configuration) = Self.read(text, problems, values)
        // Another folder than the one that is meant would have other files.
        guard tree != nil, !problems.concern(keysBeginningWith: PipelinesKeys.section) else {
            try problems.check()
            return (configuration, PipelineCatalogue([]))
        }
        problems.tree = tree
        let pipelines: PipelineCatalogue
        do {
            pipelines = try PipelineCatalogue.load(directory: configuration.pipelines.directory)
        } catch {
            try problems.check(followedBy: error)
            throw error
        }
        configuration.check(pipelines, problems)
        try problems.check()
        return (configuration, pipelines)
    }
}
