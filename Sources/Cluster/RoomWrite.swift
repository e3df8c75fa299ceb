// SPDX-License-Identifier: Apache-2.0

/// A transaction about one room: what it depends on and what it writes.
struct RoomWrite: Sendable, Hashable {
    /// A value to write.
    struct Put: Sendable, Hashable {
        let key: ClusterKey
        let value: String
        /// Whether it ends with the lease of this host.
        let isLeased: Bool
        /// The revision in which the key came into being; nil where this transaction creates it.
        let created: Revision?
    }

    /// What it does, for what follows its answer.
    enum Kind: Sendable, Hashable {
        /// A new ownership of a room, with the host that had it.
        case claim(from: String?)
        /// Anything else about a room that this host holds.
        case update
        /// The end of an ownership; the host that should have the room next.
        case release(next: String?)
    }

    let kind: Kind
    let lease: LeaseID
    /// The claim as it must be; `Revision.none`: absent.
    let claim: Revision
    /// The owner as it must be; `Revision.none`: absent.
    let owner: Revision
    let puts: [Put]
    var deletesClaim = false

    /// The transaction: it fails with the present claim and owner.
    func transaction(_ room: String, cluster: String) -> StoreTransaction {
        let claim = ClusterKey.claim(room).text(cluster: cluster)
        let owner = ClusterKey.owner(room).text(cluster: cluster)
        var operations = self.puts.map { put in
            StoreTransaction.Operation.put(
                key: put.key.text(cluster: cluster),
                value: put.value,
                lease: put.isLeased ? self.lease : nil
            )
        }
        if self.deletesClaim { operations.append(.delete(key: claim)) }
        return StoreTransaction(
            if: [.modified(key: claim, self.claim), .modified(key: owner, self.owner)],
            then: operations,
            else: [.get(key: claim), .get(key: owner)]
        )
    }
}
