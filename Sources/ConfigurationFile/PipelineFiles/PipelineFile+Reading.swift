// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import PipelineCatalogue

extension PipelineFile {
    /// Most bytes of a pipeline file.
    static let maximumBytes = 64 << 10

    /// Reads a pipeline file's text, strictly, and checks all of it that can be checked without GStreamer.
    ///
    /// `${…}` is refused: values are set on elements, never put into text.
    ///
    /// - Parameter file: the file's name for messages.
    /// - Throws: `ConfigurationError` with every problem.
    public static func parse(
        _ kind: Kind,
        _ name: String,
        text: String,
        file: String
    ) throws(ConfigurationError) -> PipelineFile {
        let problems = ProblemList(file: file)
        var reader = YAMLText(problems: problems, values: nil)
        guard let tree = reader.tree(of: text),
            let mapping = MappingReader(tree, PipelineKeys.table, path: "", problems: problems)
        else {
            try problems.check()
            throw ConfigurationError(.invalid, [ConfigurationProblem(file: file, key: "", message: "not a pipeline")])
        }
        let pipeline = PipelineFile(kind: kind, name: name, mapping)
        try problems.check()
        for finding in pipeline.findings {
            problems.add(tree.place(of: finding.key), finding.key, finding.message)
        }
        try problems.check()
        return pipeline
    }

    private init(kind: Kind, name: String, _ reader: MappingReader) {
        self.init(
            kind: kind,
            name: name,
            description: reader.required(PipelineKeys.description) ?? "",
            launch: reader.required(PipelineKeys.launch) ?? ""
        )
        self.accepts = reader.media("accepts")
        self.gives = reader.media("gives")
        self.requires = reader.values(PipelineKeys.requires, count: 1...MappingReader.maximumNames) ?? []
        if !reader.has(PipelineKeys.requires.name) { reader.add(PipelineKeys.requires.name, "missing") }
        for (entry, path) in reader.named("ports") {
            guard let pad = reader.single(entry.value, PipelineKeys.pad, path: path) else { continue }
            self.ports[entry.key] = pad
        }
        for (entry, path) in reader.named("parameters") {
            let accepted = "a mapping with \(PipelineParameterKeys.table.names.joined(separator: ", "))"
            let parameter = MappingReader(
                entry.value,
                PipelineParameterKeys.table,
                path: path,
                problems: reader.problems,
                accepted: accepted
            )
            self.parameters[entry.key] = parameter.flatMap { PipelineParameter($0) }
        }
        self.argument = reader.value(PipelineKeys.argument)
        self.isLive = reader.value(PipelineKeys.isLive) ?? self.isLive
        self.hasTestPattern = reader.value(PipelineKeys.hasTestPattern) ?? self.hasTestPattern
        self.rank = reader.value(PipelineKeys.rank) ?? self.rank
        self.isProbed = reader.value(PipelineKeys.isProbed) ?? self.isProbed
    }
}

extension PipelineParameter {
    fileprivate init?(_ reader: MappingReader) {
        let element = reader.required(PipelineParameterKeys.element)
        let form = reader.required(PipelineParameterKeys.form)
        let isFolder = form == .folder
        let property =
            isFolder ? reader.value(PipelineParameterKeys.property) : reader.required(PipelineParameterKeys.property)
        guard let element, let form, isFolder || property != nil else { return nil }
        self.init(element: element, property: property ?? "", form: form)
        for (entry, path) in reader.named(PipelineParameterKeys.file.name) {
            self.files[entry.key] = reader.single(entry.value, PipelineParameterKeys.file, path: path)
        }
        self.unit = reader.value(PipelineParameterKeys.unit)
        self.defaultText = reader.value(PipelineParameterKeys.defaultText)
        self.minimum = reader.value(PipelineParameterKeys.minimum)
        self.maximum = reader.value(PipelineParameterKeys.maximum)
        self.isRequired = reader.value(PipelineParameterKeys.isRequired) ?? false
        self.description = reader.value(PipelineParameterKeys.description)
    }
}

extension MappingReader {
    /// A mapping from kinds of media to a codec or a list of them.
    fileprivate func media(_ name: String) -> [MediaKind: [String]] {
        guard let reader = self.mapping(name, PipelineKeys.media) else { return [:] }
        var table: [MediaKind: [String]] = [:]
        for media in MediaKind.allCases {
            guard let node = reader.node(media.rawValue) else { continue }
            let key = Key(media.rawValue, PipelineKeys.codec.type)
            if case .sequence = node.content {
                table[media] = reader.values(key, count: 1...16)
            } else {
                table[media] = reader.value(key).map { [$0] }
            }
        }
        return table
    }
}

extension SourceNode {
    /// Where a key such as `parameters.path.element` is; where the nearest mapping around it is if it is not there.
    fileprivate func place(of path: String) -> Place? {
        guard case .mapping(let entries) = self.content, !path.isEmpty else { return self.place }
        let parts = path.split(separator: ".", maxSplits: 1)
        guard let entry = entries.first(where: { $0.key == parts[0] }) else { return self.place }
        guard parts.count > 1, case .mapping = entry.value.content else { return entry.place }
        let rest = String(parts[1])
        let place = entry.value.place(of: rest)
        return place == entry.value.place ? entry.place : place
    }
}
