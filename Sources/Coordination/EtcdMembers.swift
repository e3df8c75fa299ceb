// SPDX-License-Identifier: Apache-2.0

/// Which member of an etcd is asked: one until it fails, then the next.
struct EtcdMembers: Sendable, Hashable {
    /// The URLs, without a slash at the end.
    let urls: [String]
    /// The member that is asked now, from 0.
    private(set) var current = 0

    init(_ urls: [String]) {
        self.urls = urls.map { String($0.reversed().drop { $0 == "/" }.reversed()) }
    }

    /// A member did not answer, or has lost the others; whether another one is asked from now on.
    ///
    /// A member that is not asked any more, of which many requests may tell at once, changes nothing.
    mutating func hasFailed(_ member: Int) -> Bool {
        guard member == self.current, self.urls.count > 1 else { return false }
        self.current = (member + 1) % self.urls.count
        return true
    }
}
