// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension YAMLText {
    /// The tree of a definition that was kept; texts in it count as texts in quotes do.
    mutating func tree(of definition: JSONValue, key: String) -> SourceNode {
        switch definition {
        case .null: SourceNode(content: .null)
        case .bool(let bool): SourceNode(content: .scalar(.init(bool ? "true" : "false", .boolean)))
        case .integer(let integer): SourceNode(content: .scalar(.init(String(integer), .integer)))
        case .number(let number): SourceNode(content: .scalar(.init(String(number), .number)))
        case .string(let string): self.substituted(.init(string, .string), nil, key: key)
        case .array(let values):
            SourceNode(
                content: .sequence(values.enumerated().map { self.tree(of: $0.element, key: "\(key)[\($0.offset)]") })
            )
        case .object(let members):
            SourceNode(
                content: .mapping(
                    members.sorted { $0.key < $1.key }.map { name, value in
                        SourceNode.Entry(key: name, value: self.tree(of: value, key: "\(key).\(Excerpt.text(name))"))
                    }
                )
            )
        }
    }
}

extension SourceNode.Scalar {
    fileprivate init(_ text: String, _ form: Form) {
        self.init(text: text, written: text, form: form)
    }
}
