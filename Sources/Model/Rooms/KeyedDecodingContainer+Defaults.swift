// SPDX-License-Identifier: Apache-2.0

extension KeyedDecodingContainer {
    /// Reads a value; what is missing stays as it is.
    func read<Value: Decodable>(_ key: Key, into value: inout Value) throws {
        if let found = try self.decodeIfPresent(Value.self, forKey: key) { value = found }
    }
}
