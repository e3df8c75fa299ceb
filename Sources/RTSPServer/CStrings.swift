// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Strings as C wants them, for as long as this lives.
final class CStrings {
    private var pointers: [UnsafeMutablePointer<CChar>] = []

    deinit {
        for pointer in self.pointers { free(pointer) }
    }

    /// A copy; nil if there is no memory.
    func add(_ text: String) -> UnsafePointer<CChar>? {
        guard let copy = strdup(text) else { return nil }
        self.pointers.append(copy)
        return UnsafePointer(copy)
    }

    /// A list of copies; empty strings where there is no memory.
    func withList<Result>(
        _ texts: [String],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        let list = texts.map { self.add($0) }
        return list.withUnsafeBufferPointer { body($0.baseAddress) }
    }
}
