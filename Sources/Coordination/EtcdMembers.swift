// SPDX-License-Identifier: Apache-2.0

/// The choice of a member: one until it fails, then the next.
struct EtcdMembers: Sendable, Hashable {
    /// The URLs, without a slash at the end.
    let urls: [String]
    /// The present member, from 0.
    private(set) var current = 0

    init(_ urls: [String]) {
        self.urls = urls.map { String($0.reversed().drop { $0 == "/" }.reversed()) }
    }

    /// Takes the failure of a member; returns whether the choice changes.
    ///
    /// It does not if another request has reported the failure before.
    mutating func hasFailed(_ member: Int) -> Bool {
        guard member == self.current, self.urls.count > 1 else { return false }
        self.current = (member + 1) % self.urls.count
        return true
    }
}
