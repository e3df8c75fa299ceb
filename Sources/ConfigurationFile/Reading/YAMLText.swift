// SPDX-License-Identifier: Apache-2.0

internal import Yams

/// Reads YAML, and so JSON, into a tree of bounded size.
struct YAMLText {
    /// Longest text, in bytes.
    static let maximumBytes = 1 << 20
    /// Deepest nesting; a configuration needs seven levels.
    static let maximumDepth = 32
    /// Most values, each counted as often as aliases repeat it; 10 000 rooms of five keys have 120 000.
    static let maximumNodes = 250_000

    /// The tags of values without an explicit one, and the same written out.
    private static let tags: Set = ["tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"]

    private let problems: ProblemList
    private var substitution: Substitution
    private var nodes = 0

    /// A reader that adds problems to a list and replaces `${…}` from a source, if there is one.
    init(problems: ProblemList, values: (any ValueSource)?) {
        self.problems = problems
        self.substitution = Substitution(source: values)
    }

    /// The tree of a text; nil if a problem was added and there is none.
    ///
    /// Problems that leave the rest of the tree as it is are added too, such as `${…}` without a value.
    ///
    /// - Parameter key: What the keys of problems begin with.
    mutating func tree(of text: String, key: String = "") -> SourceNode? {
        guard text.utf8.count <= Self.maximumBytes else {
            self.problems.add(nil, "", "longer than \(Self.maximumBytes) bytes")
            return nil
        }
        let text = JSONEscapes.joined(text)
        if let offset = AliasCheck(text).firstOffence() {
            let message = "aliases (*name) next to keys that are not plain text are not taken"
            self.problems.add(text.place(ofUTF8Offset: offset), "", message)
            return nil
        }
        guard let root = self.compose(text) else { return nil }
        let tree = self.convert(root, key: key, depth: 1)
        guard self.nodes <= Self.maximumNodes else {
            let message = "more than \(Self.maximumNodes) values, aliases counted as what they stand for"
            self.problems.add(nil, "", message)
            return nil
        }
        return tree
    }

    /// A scalar with `${…}` replaced; broken if that cannot be done.
    mutating func substituted(_ scalar: SourceNode.Scalar, _ place: SourceNode.Place?, key: String) -> SourceNode {
        var scalar = scalar
        if scalar.form == .string, scalar.text.utf8.contains(UInt8(ascii: "$")) {
            do {
                (scalar.text, scalar.isSubstituted) = try self.substitution.replace(scalar.written)
            } catch {
                self.problems.add(place, key, error.reason, accepted: error.accepted)
                return SourceNode(content: .broken, place: place)
            }
        }
        return SourceNode(content: .scalar(scalar), place: place)
    }

    /// The parser's tree.
    private func compose(_ text: String) -> Node? {
        do {
            if let root = try Yams.compose(yaml: text, .basic, .default, .utf8) { return root }
            self.problems.add(nil, "", "there is nothing in it")
        } catch let error as YamlError {
            self.add(error, in: text)
        } catch {
            self.problems.add(nil, "", "cannot be parsed")
        }
        return nil
    }

    private func add(_ error: YamlError, in text: String) {
        switch error {
        case .reader(let problem, let offset, _, _):
            let index = offset.flatMap { text.index(text.startIndex, offsetBy: $0, limitedBy: text.endIndex) }
            self.problems.add(index.map { text.place(of: $0) }, "", problem)
        case .composer(_, _, let mark, _) where error.description.contains("another document"):
            let place = SourceNode.Place(line: mark.line, column: mark.column)
            self.problems.add(place, "", "a second document begins here", accepted: "one document")
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            // These texts are libyaml's own; the decisive one comes first.
            let message = [problem, context?.text].compactMap { $0 }.joined(separator: " ")
            let place = SourceNode.Place(line: mark.line, column: mark.column)
            let isTab = text.index(of: place).map { $0 < text.endIndex && text[$0] == "\t" } ?? false
            let line = Self.shownLine(of: place, in: text).map { " in the line \"\($0)\"" } ?? ""
            let advice = isTab ? "; indent with blanks, not with tabs" : ""
            self.problems.add(place, "", "not YAML: \(message)\(line)\(advice)")
        case .duplicatedKeysInMapping(let names, let context):
            let place = SourceNode.Place(line: context.mark.line, column: context.mark.column)
            let shown = names.prefix(3).map { "\"\(Excerpt.text($0))\"" }.joined(separator: ", ")
            self.problems.add(place, "", "keys given twice: \(shown)")
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            self.problems.add(nil, "", "cannot be parsed")
        }
    }

    /// The line of a place, for the person who wrote it; nil where it may hold a secret, which no tree shows yet.
    ///
    /// A line that has more than one value, or a quoted one, is shown without it: the quotes may be those of another value.
    private static func shownLine(of place: SourceNode.Place, in text: String) -> String? {
        guard let start = text.index(of: SourceNode.Place(line: place.line, column: 1)) else { return nil }
        let line = text[start...].prefix { !$0.isNewline }.trimmingPrefix { $0.isWhitespace || $0 == "-" }
        let parts = line.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count > 1, Self.harmlessKeys.contains(String(parts[0])) else { return nil }
        let hasOneValue = parts.count == 2 && !line.contains { ",\"'".contains($0) }
        return hasOneValue ? Excerpt.text(line) : "\(parts[0]): …"
    }

    /// Every key whose value may be shown.
    private static let harmlessKeys = Set(
        RootKeys.table.paths.compactMap { path in path.split { ".[]*".contains($0) }.last.map(String.init) }
    ).subtracting([
        "credential", "parameters", "password", "secret", "sha256", "token", "tokens", "url", "users", "value",
    ])

    private mutating func convert(_ node: Node, key: String, depth: Int) -> SourceNode {
        self.nodes += 1
        let place = node.mark.map { SourceNode.Place(line: $0.line, column: $0.column) }
        let broken = SourceNode(content: .broken, place: place)
        guard self.nodes <= Self.maximumNodes else { return broken }
        guard depth <= Self.maximumDepth else {
            self.problems.add(place, key, "nested deeper than \(Self.maximumDepth) levels")
            return broken
        }
        guard Self.tags.contains(node.tag.description) else {
            self.problems.add(place, key, "tags are not taken: \(Excerpt.text(node.tag.description))")
            return broken
        }
        switch node {
        case .scalar(let scalar):
            guard scalar.style == .plain else {
                let string = SourceNode.Scalar(text: scalar.string, written: scalar.string, form: .string)
                return self.substituted(string, place, key: key)
            }
            guard let plain = SourceNode.Scalar(plain: scalar.string) else {
                return SourceNode(content: .null, place: place)
            }
            return self.substituted(plain, place, key: key)
        case .sequence(let sequence):
            var nodes: [SourceNode] = []
            for (index, element) in sequence.enumerated() {
                guard self.nodes <= Self.maximumNodes else { return broken }
                nodes.append(self.convert(element, key: "\(key)[\(index)]", depth: depth + 1))
            }
            return SourceNode(content: .sequence(nodes), place: place)
        case .mapping(let mapping):
            return SourceNode(content: .mapping(self.entries(of: mapping, key: key, depth: depth)), place: place)
        case .alias:
            return broken
        }
    }

    private mutating func entries(of mapping: Node.Mapping, key: String, depth: Int) -> [SourceNode.Entry] {
        var entries: [SourceNode.Entry] = []
        for (keyNode, value) in mapping {
            guard self.nodes <= Self.maximumNodes else { break }
            let place = keyNode.mark.map { SourceNode.Place(line: $0.line, column: $0.column) }
            guard case .scalar(let scalar) = keyNode else {
                self.problems.add(place, key, "a key that is not a text")
                continue
            }
            let path = key.isEmpty ? Excerpt.text(scalar.string) : "\(key).\(Excerpt.text(scalar.string))"
            let node = self.convert(value, key: path, depth: depth + 1)
            entries.append(SourceNode.Entry(key: scalar.string, place: place, value: node))
        }
        return entries
    }
}
