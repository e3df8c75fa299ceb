// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster

/// A call of etcd's JSON gateway: its path, its JSON text, and whether it may be repeated.
///
/// The text has the names of etcd's protocol buffers, int64 values as strings, and bytes in Base64.
struct EtcdCall: Sendable, Hashable {
    /// Most bytes of a value that Tapedeck writes.
    static let maximumValueBytes = 64 << 10

    /// The path, with `/v3/`.
    var path: String
    /// The body.
    var body: JSONValue
    /// Whether the client may send it again after a lost answer: twice has the effect of once.
    var isRepeatable: Bool
    /// Whether it is a renewal, which has a shorter limit and does not wait for a token.
    var isRenewal = false

    /// Reads keys that begin with a prefix, in order.
    ///
    /// - Parameters:
    ///   - first: the first key to read; nil begins with the first of all.
    ///   - revision: the revision to read; nil reads the present one.
    static func range(prefix: String, from first: [UInt8]?, limit: Int, at revision: Revision?) -> EtcdCall {
        var body = Self.keys(prefix)
        if let first { body["key"] = Self.bytes(first) }
        body["limit"] = Self.number(Int64(limit))
        if let revision { body["revision"] = Self.number(revision.number) }
        return EtcdCall(path: "/v3/kv/range", body: .object(body), isRepeatable: true)
    }

    /// Throws `refused` if a value or a list of operations is too large.
    static func transaction(_ transaction: StoreTransaction) throws(StoreError) -> EtcdCall {
        let limit = StoreTransaction.maximumOperations
        for list in [transaction.success, transaction.failure] where list.count > limit {
            throw .refused("a transaction of \(list.count) operations; the limit is \(limit)")
        }
        guard transaction.conditions.count <= limit else {
            throw .refused("a transaction of \(transaction.conditions.count) conditions; the limit is \(limit)")
        }
        for case .put(let key, let value, _) in transaction.success + transaction.failure
        where value.utf8.count > Self.maximumValueBytes {
            throw .refused("the value of \(key) has more than \(Self.maximumValueBytes) bytes")
        }
        let body: [String: JSONValue] = [
            "compare": .array(transaction.conditions.map(Self.comparison)),
            "success": .array(transaction.success.map(Self.operation)),
            "failure": .array(transaction.failure.map(Self.operation)),
        ]
        return EtcdCall(path: "/v3/kv/txn", body: .object(body), isRepeatable: false)
    }

    /// A lease whose answer was lost ends after its duration.
    static func grant(_ duration: Duration) -> EtcdCall {
        let (seconds, rest) = duration.components
        return EtcdCall(
            path: "/v3/lease/grant",
            body: .object(["TTL": Self.number(seconds + (rest > 0 ? 1 : 0))]),
            isRepeatable: true
        )
    }

    static func keepAlive(_ lease: LeaseID) -> EtcdCall {
        EtcdCall(
            path: "/v3/lease/keepalive",
            body: .object(["ID": Self.number(lease.number)]),
            isRepeatable: true,
            isRenewal: true
        )
    }

    static func revoke(_ lease: LeaseID) -> EtcdCall {
        EtcdCall(path: "/v3/lease/revoke", body: .object(["ID": Self.number(lease.number)]), isRepeatable: true)
    }

    static func authenticate(_ user: EtcdConfiguration.User) -> EtcdCall {
        let body: [String: JSONValue] = ["name": .string(user.name), "password": .string(user.password.value)]
        return EtcdCall(path: "/v3/auth/authenticate", body: .object(body), isRepeatable: true)
    }

    static let status = EtcdCall(path: "/v3/maintenance/status", body: .object([:]), isRepeatable: true)

    /// Watches all keys that begin with a prefix, from a revision on; etcd may send a large change in several lines.
    static func watch(prefix: String, from revision: Revision) -> EtcdCall {
        var body = Self.keys(prefix)
        body["start_revision"] = Self.number(revision.number)
        body["fragment"] = .bool(true)
        return EtcdCall(path: "/v3/watch", body: .object(["create_request": .object(body)]), isRepeatable: true)
    }

    /// The first key after another one.
    static func following(_ key: [UInt8]) -> [UInt8] { key + [0] }

    private static func comparison(_ condition: StoreTransaction.Condition) -> JSONValue {
        switch condition {
        case .created(let key, let revision):
            .object([
                "key": Self.bytes(key.utf8), "target": "CREATE", "result": "EQUAL",
                "create_revision": Self.number(revision.number),
            ])
        case .modified(let key, let revision):
            .object([
                "key": Self.bytes(key.utf8), "target": "MOD", "result": "EQUAL",
                "mod_revision": Self.number(revision.number),
            ])
        }
    }

    private static func operation(_ operation: StoreTransaction.Operation) -> JSONValue {
        switch operation {
        case .put(let key, let value, let lease):
            var put = ["key": Self.bytes(key.utf8), "value": Self.bytes(value.utf8)]
            if let lease { put["lease"] = Self.number(lease.number) }
            return .object(["request_put": .object(put)])
        case .delete(let key):
            return .object(["request_delete_range": .object(["key": Self.bytes(key.utf8)])])
        case .get(let key):
            return .object(["request_range": .object(["key": Self.bytes(key.utf8)])])
        }
    }

    /// The range of all keys that begin with a prefix: the last byte of UTF-8 is never 255, so it has a successor.
    private static func keys(_ prefix: String) -> [String: JSONValue] {
        guard let last = prefix.utf8.last else { return ["key": Self.bytes([0]), "range_end": Self.bytes([0])] }
        return ["key": Self.bytes(prefix.utf8), "range_end": Self.bytes(prefix.utf8.dropLast() + [last + 1])]
    }

    private static func bytes(_ bytes: some Sequence<UInt8>) -> JSONValue { .string(Base64.encode(Array(bytes))) }
    private static func number(_ number: Int64) -> JSONValue { .string(String(number)) }
}
