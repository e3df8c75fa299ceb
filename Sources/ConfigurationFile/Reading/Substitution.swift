// SPDX-License-Identifier: Apache-2.0

/// Replaces `${NAME}` and `${file:/path}` in texts; `$${` stands for `${`.
struct Substitution {
    /// Most bytes of values in one text or file.
    private static let maximumBytes = 4 << 20
    /// Most bytes of one value.
    private static let maximumValueBytes = 64 << 10

    /// Why something could not be replaced.
    struct Failure: Error {
        var reason: String
        var accepted: String?
    }

    private let source: (any ValueSource)?
    private var values: [Substring: String] = [:]
    private var bytes = 0

    /// A substitution with its source of values; without one, `${…}` is refused.
    init(source: (any ValueSource)?) {
        self.source = source
    }

    /// Whether a text has something to replace; `$${` is not.
    static func hasReference(_ text: String) -> Bool {
        var rest = text[...]
        while let dollar = rest.firstIndex(of: "$") {
            if rest[dollar...].hasPrefix("${") { return true }
            rest = rest[dollar...].dropFirst(rest[dollar...].hasPrefix("$${") ? 3 : 1)
        }
        return false
    }

    /// The text with everything replaced, and whether a value went into it.
    mutating func replace(_ text: String) throws(Failure) -> (text: String, isSubstituted: Bool) {
        var result = ""
        var isSubstituted = false
        var rest = text[...]
        while let dollar = rest.firstIndex(of: "$") {
            result += rest[..<dollar]
            rest = rest[dollar...]
            if rest.hasPrefix("$${") {
                result += "${"
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                guard let end = rest.firstIndex(of: "}") else {
                    throw Failure(reason: "${ without }", accepted: "${NAME}, ${file:/path}, or $${ for ${")
                }
                result += try self.value(of: rest[..<end].dropFirst(2))
                isSubstituted = true
                rest = rest[end...].dropFirst()
            } else {
                result.append("$")
                rest = rest.dropFirst()
            }
        }
        return (result + rest, isSubstituted)
    }

    private mutating func value(of reference: Substring) throws(Failure) -> String {
        guard let source = self.source else {
            throw Failure(reason: "${…} is taken from the configuration file only", accepted: "$${ for ${")
        }
        let value: String
        if let known = self.values[reference] {
            value = known
        } else {
            value = try Self.fetch(reference, from: source)
            self.values[reference] = value
        }
        self.bytes += value.utf8.count
        guard value.utf8.count <= Self.maximumValueBytes, self.bytes <= Self.maximumBytes else {
            throw Failure(reason: "the values of ${…} are too long")
        }
        return value
    }

    private static func fetch(_ reference: Substring, from source: any ValueSource) throws(Failure) -> String {
        if reference.hasPrefix("file:") {
            let path = String(reference.dropFirst(5))
            guard path.hasPrefix("/") else {
                throw Failure(reason: "${file:…} has no absolute path", accepted: "${file:/path}")
            }
            do {
                return try source.contents(ofFile: path)
            } catch {
                throw Failure(reason: "\(Excerpt.text(path)) \(error.reason)")
            }
        }
        guard Self.isName(reference) else {
            throw Failure(
                reason: "\"${\(Excerpt.text(reference))}\" is not a reference",
                accepted: "${NAME}, ${file:/path}, or $${ for ${"
            )
        }
        guard let value = source.environmentVariable(String(reference)) else {
            throw Failure(reason: "the environment variable \(Excerpt.text(reference)) is not set")
        }
        return value
    }

    private static func isName(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
            default: false
            }
        }
    }
}
