// SPDX-License-Identifier: Apache-2.0

public import Basics

extension RoomConfiguration {
    /// Whether a text can name a room: 1 to 64 of `A-Z`, `a-z`, `0-9`, `-`, `_` and `.`, the first a letter or digit.
    public static func isName(_ text: String) -> Bool {
        RoomKeys.isName(text)
    }

    /// Reads one room's definition, JSON or YAML, as the HTTP interface takes it.
    ///
    /// `${…}` is refused: who may define rooms must not be able to read the daemon's environment and files.
    ///
    /// - Throws: `ConfigurationError` with every problem; their keys begin with the room's name.
    public static func parse(name: String, text: String) throws(ConfigurationError) -> RoomConfiguration {
        let problems = ProblemList(file: nil)
        var reader = YAMLText(problems: problems, values: nil)
        let tree = reader.tree(of: text, key: Excerpt.text(name))
        return try Self.room(name: name, tree: tree, problems: problems)
    }

    /// Reads a definition that was kept, `${…}` and all.
    ///
    /// - Throws: `ConfigurationError` with every problem, without places; their keys begin with the room's name.
    public static func parse(
        name: String,
        definition: JSONValue,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> RoomConfiguration {
        let problems = ProblemList(file: nil)
        var reader = YAMLText(problems: problems, values: values)
        let tree = reader.tree(of: definition, key: Excerpt.text(name))
        return try Self.room(name: name, tree: tree, problems: problems)
    }

    /// Reads one room's definition from a file, `${…}` and all; blocks as `DaemonConfiguration.load` does.
    ///
    /// - Parameters:
    ///   - name: The room's name, with which the keys of problems begin.
    ///   - texts: Values by key, in place of those of the file.
    /// - Throws: `ConfigurationError` with every problem.
    public static func load(
        name: String,
        path: String,
        replacing texts: [String: String],
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> RoomConfiguration {
        let problems = ProblemList(file: path)
        var reader = YAMLText(problems: problems, values: values)
        var tree = reader.tree(of: try DaemonConfiguration.text(path: path), key: name)
        if case .mapping(let entries)? = tree?.content {
            let given = texts.map { key, text in
                let scalar = SourceNode.Scalar(text: text, written: text, form: .string)
                return SourceNode.Entry(key: key, value: SourceNode(content: .scalar(scalar)))
            }
            tree?.content = .mapping(entries.filter { texts[$0.key] == nil } + given)
        }
        return try Self.room(name: name, tree: tree, problems: problems)
    }

    /// The room with a JSON merge patch (RFC 7396) applied to its definition; `${…}` in the patch is refused.
    ///
    /// A member that is null takes a key away, so that its default holds again. What is secret does not go along to
    /// another URL or another capture.
    ///
    /// - Throws: `ConfigurationError` with every problem of the patch, else of the patched room.
    public func applying(
        patch: String,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> RoomConfiguration {
        let problems = ProblemList(file: nil)
        var reader = YAMLText(problems: problems, values: nil)
        let tree = reader.tree(of: patch, key: self.name)
        if let tree, case .mapping = tree.content {
            try problems.check()
            let changes = tree.written
            self.refuseSecretsElsewhere(changes, tree.place, problems)
            try problems.check()
            return try Self.parse(
                name: self.name,
                definition: self.definition.merging(patch: changes),
                values: values
            )
        }
        if let tree, case .null = tree.content {
            problems.add(tree.place, self.name, "found nothing", accepted: "an object with the keys to change")
        } else if let tree {
            problems.add(tree.place, self.name, tree.foundKind, accepted: "an object with the keys to change")
        }
        try problems.check()
        return self
    }

    /// Reports each secret that a patch keeps and sends elsewhere: a client that may change rooms must not learn the file's.
    private func refuseSecretsElsewhere(_ patch: JSONValue, _ place: SourceNode.Place?, _ problems: ProblemList) {
        let (changes, room) = (patch.object ?? [:], self.definition.object ?? [:])
        if let url = changes["url"], url != room["url"], changes["secret"] == nil,
            room["secret", default: .null] != .null
        {
            problems.add(
                place,
                "\(self.name).secret",
                "belongs to the URL before",
                accepted: "the secret for the new url, or null"
            )
        }
        let (sent, before) = (changes["send"]?.object ?? [:], room["send"]?.object ?? [:])
        let (named, known) = (sent["parameters"]?.object ?? [:], before["parameters"]?.object ?? [:])
        let isOther =
            ["capture", "audio"].contains { sent[$0] != nil && sent[$0] != before[$0] }
            || named.contains { $0.value != known[$0.key] }
        // Null takes all of them away.
        guard isOther, sent["parameters"] != JSONValue.null else { return }
        for (name, value) in known.sorted(by: { $0.key < $1.key }) {
            guard named[name] == nil, Substitution.hasReference(value.string ?? "") else { continue }
            problems.add(
                place,
                "\(self.name).send.parameters.\(Excerpt.text(name))",
                "belongs to the capture before",
                accepted: "the value for the new one, or null"
            )
        }
    }

    private static func room(
        name: String,
        tree: SourceNode?,
        problems: ProblemList
    ) throws(ConfigurationError) -> RoomConfiguration {
        let entry = tree.map { SourceNode.Entry(key: name, place: $0.place, value: $0) }
        let room = entry.flatMap { RoomConfiguration.read($0, path: "", problems: problems) }
        try problems.check()
        guard let room else {
            throw ConfigurationError(.invalid, [ConfigurationProblem(key: name, message: "not a room")])
        }
        return room
    }
}

extension JSONValue {
    /// The value with a merge patch applied (RFC 7396 section 2).
    func merging(patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members = self.object ?? [:]
        for (name, change) in changes {
            members[name] = change == .null ? nil : (members[name] ?? .null).merging(patch: change)
        }
        return .object(members)
    }
}
