// SPDX-License-Identifier: Apache-2.0

/// The elements in sequence, and the newest one; once the sequence is too long, every second is kept, then every
/// fourth, and so on.
struct Thinned<Element: Sendable>: Sendable {
    private var kept: [Element] = []
    /// The newest, if it is not among them.
    private var newest: Element?
    /// One of this many elements is kept.
    private var stride = 1
    private var count = 0

    var all: [Element] { self.newest.map { self.kept + [$0] } ?? self.kept }

    mutating func add(_ element: Element, _ limit: Int) {
        if self.count.isMultiple(of: self.stride), self.kept.count >= limit { self.thin() }
        if self.count.isMultiple(of: self.stride) {
            self.kept.append(element)
            self.newest = nil
        } else {
            self.newest = element
        }
        self.count += 1
    }

    private mutating func thin() {
        var index = 0
        self.kept.removeAll { _ in
            defer { index += 1 }
            return !index.isMultiple(of: 2)
        }
        self.stride *= 2
    }
}
