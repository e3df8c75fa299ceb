// SPDX-License-Identifier: Apache-2.0

/// Renames keys that a mapping has twice, which the parser refuses, so that everything else can be checked as well.
///
/// The first letter of the first of them becomes a scalar of a private plane; places stay as they are.
struct DuplicateKeys {
    /// Most renamings of one text: each costs a pass of the parser.
    private static let maximum = 10
    private static let firstMark: UInt32 = 0xF_0000

    private var names: [String] = []

    /// Renames the key at a place; false if that cannot be done.
    mutating func rename(_ name: String, at place: SourceNode.Place, in text: inout String) -> Bool {
        guard self.names.count < Self.maximum, let first = name.unicodeScalars.first,
            let mark = Unicode.Scalar(Self.firstMark + UInt32(self.names.count)),
            !self.names.isEmpty || !text.unicodeScalars.contains(where: Self.isMark),
            var index = text.index(of: place)
        else { return false }
        if text.unicodeScalars[index] == "\"" || text.unicodeScalars[index] == "'" {
            index = text.unicodeScalars.index(after: index)
        }
        guard index < text.endIndex, text.unicodeScalars[index] == first else { return false }
        text.unicodeScalars.replaceSubrange(index...index, with: [mark])
        self.names.append(name)
        return true
    }

    /// The name that a key had before; nil if it was not renamed.
    func originalName(of key: String) -> String? {
        guard let scalar = key.unicodeScalars.first, Self.isMark(scalar) else { return nil }
        let index = Int(scalar.value - Self.firstMark)
        return self.names.indices.contains(index) ? self.names[index] : nil
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        (Self.firstMark..<Self.firstMark + UInt32(Self.maximum)).contains(scalar.value)
    }
}
