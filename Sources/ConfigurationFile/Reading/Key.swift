// SPDX-License-Identifier: Apache-2.0

/// A key of a mapping whose value is a single text, number or truth value, or a list of these.
///
/// The tables of keys are the home of every name and range: decoder, suggestions and the tests of the documents read
/// them.
struct Key<Value: Sendable>: Sendable {
    let name: String
    let type: ValueType<Value>
    /// Whether its value is not to be shown.
    let isSecret: Bool

    init(_ name: String, _ type: ValueType<Value>, isSecret: Bool = false) {
        self.name = name
        self.type = type
        self.isSecret = isSecret
    }

    /// The key as a table's entry.
    var entry: KeyTable.Entry { KeyTable.Entry(name: self.name, shape: .value) }
}

/// The keys that a mapping may have.
struct KeyTable: Sendable {
    /// A key and what may stand behind it.
    struct Entry: Sendable {
        /// What may stand behind a key.
        enum Shape: Sendable {
            /// A single value, or a list of single values.
            case value
            /// A mapping.
            case mapping(KeyTable)
            /// A list of mappings.
            case list(KeyTable)
            /// A mapping from names of the operator's choice to mappings.
            case named(KeyTable)
        }

        let name: String
        let shape: Shape
    }

    let entries: [Entry]

    init(_ entries: Entry...) {
        self.init(entries)
    }

    init(_ entries: [Entry]) {
        self.entries = entries
    }

    /// The names of the keys.
    var names: [String] { self.entries.map(\.name) }

    /// Every key below, as `rooms.*.record.video` or `webhooks[].url`, sorted.
    var paths: [String] {
        self.entries.flatMap { entry in
            switch entry.shape {
            case .value: [entry.name]
            case .mapping(let table): [entry.name] + table.paths.map { "\(entry.name).\($0)" }
            case .list(let table): [entry.name] + table.paths.map { "\(entry.name)[].\($0)" }
            case .named(let table): [entry.name] + table.paths.map { "\(entry.name).*.\($0)" }
            }
        }.sorted()
    }
}
