// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// A value of a configuration's text, with its place: what YAML and JSON have in common.
struct SourceNode {
    /// A place in a text; both numbers from 1.
    struct Place: Hashable, Comparable {
        var line: Int
        var column: Int

        static func < (left: Place, right: Place) -> Bool {
            (left.line, left.column) < (right.line, right.column)
        }
    }

    /// A value that is neither a list nor a mapping.
    struct Scalar: Hashable {
        /// What a text without quotes means.
        enum Form: Hashable {
            case string, boolean, integer, number
        }

        /// The text, with `${…}` replaced.
        var text: String
        /// The text as it was written.
        var written: String
        /// What the text as it was written means.
        var form: Form
        /// Whether something was replaced: then the text must not be shown.
        var isSubstituted = false
    }

    /// A key with its value.
    struct Entry {
        var key: String
        var place: Place?
        var value: SourceNode
    }

    /// What the value is.
    enum Content {
        case null
        case scalar(Scalar)
        case sequence([SourceNode])
        case mapping([Entry])
        /// Something whose problem is reported already.
        case broken
    }

    var content: Content
    var place: Place?
}

extension SourceNode {
    /// The value as it was written, `${…}` unreplaced.
    var written: JSONValue {
        switch self.content {
        case .null, .broken: .null
        case .scalar(let scalar): scalar.json
        case .sequence(let nodes): .array(nodes.map(\.written))
        case .mapping(let entries):
            .object(Dictionary(entries.map { ($0.key, $0.value.written) }, uniquingKeysWith: { first, _ in first }))
        }
    }

    /// Where every key and every element below is, by its path as messages name it.
    var places: [String: Place] {
        var places: [String: Place] = [:]
        self.note(&places, path: "")
        return places
    }

    private func note(_ places: inout [String: Place], path: String) {
        switch self.content {
        case .null, .scalar, .broken: break
        case .sequence(let nodes):
            for (index, node) in nodes.enumerated() {
                places["\(path)[\(index)]"] = node.place
                node.note(&places, path: "\(path)[\(index)]")
            }
        case .mapping(let entries):
            for entry in entries {
                let key = path.isEmpty ? Excerpt.text(entry.key) : "\(path).\(Excerpt.text(entry.key))"
                places[key] = entry.place
                entry.value.note(&places, path: key)
            }
        }
    }

    /// Whether the value is this text.
    func isWord(_ word: String) -> Bool {
        if case .scalar(let scalar) = self.content { scalar.text == word } else { false }
    }

    /// What kind of value was found, for a message.
    var foundKind: String {
        switch self.content {
        case .null, .broken: "found nothing"
        case .sequence: "found a list"
        case .mapping: "found a mapping"
        case .scalar(let scalar):
            switch scalar.form {
            case .string: "found a text"
            case .boolean: "found a truth value"
            case .integer, .number: "found a number"
            }
        }
    }

    /// What was found, for a message; nothing of a value that must not be shown.
    func found(isSecret: Bool) -> String {
        switch self.content {
        case .null, .broken, .sequence, .mapping: self.foundKind
        case .scalar where isSecret: "\(self.foundKind), hidden because it is secret"
        case .scalar(let scalar) where scalar.isSubstituted:
            "found the value of \"\(Excerpt.text(scalar.written))\", which is not shown"
        case .scalar(let scalar) where scalar.form == .string: "found \"\(Excerpt.text(scalar.text))\""
        case .scalar(let scalar): "found \(Excerpt.text(scalar.text))"
        }
    }
}

extension SourceNode.Scalar {
    /// A text without quotes, as YAML's core schema reads it, without its hexadecimal and octal numbers.
    ///
    /// Nil if the text means nothing at all.
    init?(plain text: String) {
        let form: Form
        switch text {
        case "", "~", "null", "Null", "NULL": return nil
        case "true", "false": form = .boolean
        default: form = Self.isNumber(text) ? (Int(text) == nil ? .number : .integer) : .string
        }
        self.init(text: text, written: text, form: form)
    }

    private static func isNumber(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 64,
            (0x30...0x39).contains(first) || "+-.".utf8.contains(first),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) })
        else { return false }
        return Double(text) != nil
    }

    fileprivate var json: JSONValue {
        switch self.form {
        case .string: .string(self.written)
        case .boolean: .bool(self.written == "true")
        case .integer: Int(self.written).map { .integer($0) } ?? .string(self.written)
        case .number: Double(self.written).map { .number($0) } ?? .string(self.written)
        }
    }
}

/// Parts of texts in messages.
enum Excerpt {
    /// At most 60 characters, control characters left out.
    static func text(_ text: some StringProtocol) -> String {
        let start = text.prefix(60)
        let shown = String(String.UnicodeScalarView(start.unicodeScalars.filter { !Self.isControl($0) }.prefix(240)))
        return start.endIndex == text.endIndex ? shown : shown + "…"
    }

    /// Whether a scalar could disturb a terminal or a log.
    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
