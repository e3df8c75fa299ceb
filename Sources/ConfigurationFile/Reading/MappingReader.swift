// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Reads the values of a mapping by the keys of a table; every problem goes to a list.
struct MappingReader {
    /// Where the mapping is, as `rooms.standup.record`; empty for the whole text.
    let path: String
    let place: SourceNode.Place?
    let problems: ProblemList
    private var entries: [String: SourceNode.Entry] = [:]

    /// Most names of the author's choice in one mapping.
    static let maximumNames = 64

    /// A reader of a mapping; keys that the table does not have are problems.
    ///
    /// Nil, with a problem, for anything but a mapping.
    init?(_ node: SourceNode, _ table: KeyTable, path: String, problems: ProblemList, accepted: String = "a mapping") {
        self.path = path
        self.place = node.place
        self.problems = problems
        switch node.content {
        case .broken: return nil
        case .mapping(let entries):
            let names = table.names
            for entry in entries {
                guard names.contains(entry.key) else {
                    let suggestion = Spelling.suggestion(for: entry.key, among: names)
                    let accepted = suggestion == nil ? names.joined(separator: ", ") : nil
                    let key = self.path(of: Excerpt.text(entry.key))
                    problems.add(entry.place, key, "unknown key", accepted: accepted, suggestion: suggestion)
                    continue
                }
                self.entries[entry.key] = entry
            }
        case .null, .scalar, .sequence:
            problems.add(node.place, path, node.foundKind, accepted: accepted)
            return nil
        }
    }

    /// The path of a key of this mapping.
    func path(of name: String) -> String {
        self.path.isEmpty ? name : "\(self.path).\(name)"
    }

    /// Whether the key is there.
    func has(_ name: String) -> Bool {
        self.entries[name] != nil
    }

    /// The node behind a key.
    func node(_ name: String) -> SourceNode? {
        self.entries[name]?.value
    }

    /// Whether the key is there with an empty list.
    func isEmptyList(_ name: String) -> Bool {
        if case .sequence(let nodes)? = self.node(name)?.content { nodes.isEmpty } else { false }
    }

    /// Where the key is; where the mapping is if it is not there.
    func place(of name: String) -> SourceNode.Place? {
        self.entries[name]?.place ?? self.place
    }

    /// Adds a problem of a key.
    func add(_ name: String, _ message: String, accepted: String? = nil) {
        self.problems.add(self.place(of: name), self.path(of: name), message, accepted: accepted)
    }

    /// The value of a key; nil if there is none, or a wrong one.
    func value<Value>(_ key: Key<Value>) -> Value? {
        self.node(key.name).flatMap { self.read($0, key, path: self.path(of: key.name)) }
    }

    /// The value of a key that must be there.
    func required<Value>(_ key: Key<Value>) -> Value? {
        if !self.has(key.name) {
            self.problems.add(self.place, self.path(of: key.name), "missing", accepted: key.type.accepted)
        }
        return self.value(key)
    }

    /// The values of a list, without wrong elements; nil if there is none.
    func values<Value>(_ key: Key<Value>, count: ClosedRange<Int>) -> [Value]? {
        let accepted = "a list of \(count.lowerBound) to \(count.upperBound), each: \(key.type.accepted)"
        return self.elements(key.name, count: count, accepted: accepted)?.compactMap { element, path in
            self.read(element, key, path: path)
        }
    }

    /// Readers of a list of mappings, without wrong elements; nil if there is none.
    func list(_ name: String, _ table: KeyTable, maximum: Int) -> [MappingReader]? {
        let accepted = "a list of at most \(maximum) mappings with \(table.names.joined(separator: ", "))"
        return self.elements(name, count: 0...maximum, accepted: accepted)?.compactMap { element, path in
            MappingReader(element, table, path: path, problems: self.problems)
        }
    }

    /// A reader of a mapping behind a key; nil if there is none.
    func mapping(_ name: String, _ table: KeyTable) -> MappingReader? {
        self.node(name).flatMap {
            let accepted = "a mapping with \(table.names.joined(separator: ", "))"
            return MappingReader($0, table, path: self.path(of: name), problems: self.problems, accepted: accepted)
        }
    }

    /// A reader of a section, which may also be empty; nil if there is none.
    func section(_ name: String, _ table: KeyTable) -> MappingReader? {
        if case .null = self.node(name)?.content { return nil }
        return self.mapping(name, table)
    }

    private func elements(
        _ name: String,
        count: ClosedRange<Int>,
        accepted: String
    ) -> [(node: SourceNode, path: String)]? {
        guard let node = self.node(name) else { return nil }
        let path = self.path(of: name)
        switch node.content {
        case .broken: return nil
        case .sequence(let nodes) where count.contains(nodes.count):
            return nodes.enumerated().map { ($0.element, "\(path)[\($0.offset)]") }
        case .sequence(let nodes):
            self.problems.add(node.place, path, "found a list of \(nodes.count)", accepted: accepted)
            return nil
        case .null, .scalar, .mapping:
            self.problems.add(node.place, path, node.foundKind, accepted: accepted)
            return nil
        }
    }

    /// The entries of a mapping whose keys are names of the author's choice, with their paths.
    func named(_ name: String) -> [(SourceNode.Entry, String)] {
        guard let node = self.node(name) else { return [] }
        guard case .mapping(let entries) = node.content, entries.count <= Self.maximumNames else {
            let accepted = "a mapping from at most \(Self.maximumNames) names"
            self.problems.add(node.place, self.path(of: name), node.foundKind, accepted: accepted)
            return []
        }
        return entries.compactMap { entry in
            let path = "\(self.path(of: name)).\(Excerpt.text(entry.key))"
            guard ValueType<String>.isName(entry.key) else {
                self.problems.add(
                    entry.place,
                    path,
                    "cannot be a name",
                    accepted: "letters, digits, - and _, at most 64"
                )
                return nil
            }
            return (entry, path)
        }
    }

    /// The value of a node that stands behind a name of the author's choice.
    func single<Value>(_ node: SourceNode, _ key: Key<Value>, path: String) -> Value? {
        self.read(node, key, path: path)
    }

    private func read<Value>(_ node: SourceNode, _ key: Key<Value>, path: String) -> Value? {
        switch node.content {
        case .broken: return nil
        case .null, .sequence, .mapping:
            let found = node.found(isSecret: key.isSecret)
            self.problems.add(node.place, path, found, accepted: key.type.accepted)
            return nil
        case .scalar(let scalar):
            do {
                return try key.type.read(scalar)
            } catch {
                self.problems.add(
                    node.place,
                    path,
                    error.reason ?? node.found(isSecret: key.isSecret),
                    accepted: error.reason == nil ? key.type.accepted : nil,
                    suggestion: error.suggestion
                )
                return nil
            }
        }
    }
}
