// SPDX-License-Identifier: Apache-2.0

import Cluster
import FoundationEssentials

/// Reads the answers of etcd's JSON gateway.
///
/// int64 values are strings, bytes are Base64, and fields that are zero, false or empty are missing.
enum EtcdAnswer {
    /// One page of a list.
    struct Page: Sendable, Hashable {
        var values: [StoredValue]
        /// The last key, byte for byte.
        var lastKey: [UInt8]?
        /// The store's revision, which a page without a revision was read at.
        var revision: Revision
        var hasMore: Bool
    }

    /// The failure of an answer that is not etcd's.
    static let nonsense = EtcdFailure.lost("the answer is not etcd's")

    static func page(_ body: [UInt8]) throws(EtcdFailure) -> Page {
        let range = try Self.decode(Message.Range.self, body)
        return Page(
            values: range.kvs?.map(\.stored) ?? [],
            lastKey: range.kvs?.last?.key.map { Array($0) },
            revision: try range.header.known,
            hasMore: range.more ?? false
        )
    }

    /// - Parameter transaction: the request.
    static func result(_ body: [UInt8], of transaction: StoreTransaction) throws(EtcdFailure) -> StoreTransactionResult
    {
        let answer = try Self.decode(Message.Transaction.self, body)
        let hasSucceeded = answer.succeeded ?? false
        let reads = (answer.responses ?? []).compactMap(\.responseRange)
        let expected = (hasSucceeded ? transaction.success : transaction.failure).count {
            if case .get = $0 { true } else { false }
        }
        guard reads.count == expected else { throw Self.nonsense }
        return StoreTransactionResult(
            hasSucceeded: hasSucceeded,
            revision: try answer.header.known,
            values: reads.map { $0.kvs?.first?.stored }
        )
    }

    static func granted(_ body: [UInt8]) throws(EtcdFailure) -> (LeaseID, Duration) {
        let lease = try Self.decode(Message.Lease.self, body)
        guard let id = lease.id?.value, id != 0, let seconds = lease.ttl?.value, seconds > 0 else {
            throw Self.nonsense
        }
        return (LeaseID(id), .seconds(seconds))
    }

    /// The remaining time of the lease; nil: the lease is gone, for which etcd answers with success and no duration.
    static func renewed(_ body: [UInt8], _ lease: LeaseID) throws(EtcdFailure) -> Duration? {
        let line = try Self.decode(Message.Line<Message.Lease>.self, body)
        if let error = line.error { throw error.failure }
        guard let result = line.result, result.id?.value == lease.number else { throw Self.nonsense }
        guard let seconds = result.ttl?.value, seconds > 0 else { return nil }
        return .seconds(seconds)
    }

    static func token(_ body: [UInt8]) throws(EtcdFailure) -> String {
        guard let token = try Self.decode(Message.Token.self, body).token, !token.isEmpty, token.utf8.count <= 4096
        else {
            throw Self.nonsense
        }
        return token
    }

    static func status(_ body: [UInt8]) throws(EtcdFailure) -> EtcdStatus {
        let status = try Self.decode(Message.Status.self, body)
        guard let version = status.version, let member = status.header.memberId else { throw Self.nonsense }
        return EtcdStatus(
            version: String(version.prefix(64)),
            member: member,
            leader: status.leader.flatMap { $0 == "0" ? nil : $0 },
            revision: try status.header.known.number,
            databaseBytes: status.dbSize?.value ?? 0,
            problems: (status.errors ?? []).prefix(16).map { String($0.prefix(200)) }
        )
    }

    /// The failure of an answer with a status other than 200.
    static func failure(status: Int, _ body: [UInt8]) -> EtcdFailure {
        guard let error = try? Self.decode(Message.Failure.self, body), error.code != nil else {
            return .lost("HTTP status \(status), and the answer is not etcd's")
        }
        return error.failure
    }

    /// A line of a watch.
    static func line(_ line: some Collection<UInt8>) throws(EtcdFailure) -> Message.Line<Message.Watch> {
        try Self.decode(Message.Line<Message.Watch>.self, line)
    }

    private static func decode<T: Decodable>(_ type: T.Type, _ body: some Collection<UInt8>) throws(EtcdFailure) -> T {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do { return try decoder.decode(type, from: Data(body)) } catch { throw Self.nonsense }
    }

    /// The JSON texts of the gateway.
    enum Message {
        /// An int64: a string, or a number as a proxy may write it.
        struct Number: Decodable {
            var value: Int64

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                guard let text = try? container.decode(String.self) else {
                    self.value = try container.decode(Int64.self)
                    return
                }
                guard let number = Int64(text) else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: "no int64")
                }
                self.value = number
            }
        }

        struct Header: Decodable {
            var memberId: String?
            var revision: Number?

            /// The store's revision, 1 or above.
            var known: Revision {
                get throws(EtcdFailure) {
                    guard let number = self.revision?.value, number > 0 else { throw EtcdAnswer.nonsense }
                    return Revision(number)
                }
            }
        }

        struct KeyValue: Decodable {
            var key: Data?
            var value: Data?
            var createRevision: Number?
            var modRevision: Number?
            var lease: Number?

            var text: String { String(decoding: self.key ?? Data(), as: UTF8.self) }

            /// The stored value, cut at the size that Tapedeck writes.
            var stored: StoredValue {
                StoredValue(
                    key: self.text,
                    value: String(decoding: (self.value ?? Data()).prefix(EtcdCall.maximumValueBytes), as: UTF8.self),
                    created: Revision(self.createRevision?.value ?? 0),
                    modified: Revision(self.modRevision?.value ?? 0),
                    lease: self.lease.flatMap { $0.value == 0 ? nil : LeaseID($0.value) }
                )
            }
        }

        struct Range: Decodable {
            var header: Header
            var kvs: [KeyValue]?
            var more: Bool?
        }

        struct Transaction: Decodable {
            struct Response: Decodable {
                struct Read: Decodable { var kvs: [KeyValue]? }

                var responseRange: Read?
            }

            var header: Header
            var succeeded: Bool?
            var responses: [Response]?
        }

        struct Lease: Decodable {
            var id: Number?
            var ttl: Number?

            private enum CodingKeys: String, CodingKey {
                case id = "ID"
                case ttl = "TTL"
            }
        }

        struct Token: Decodable { var token: String? }

        struct Status: Decodable {
            var header: Header
            var version: String?
            var leader: String?
            var dbSize: Number?
            var errors: [String]?
        }

        struct Watch: Decodable {
            struct Event: Decodable {
                var type: String?
                var kv: KeyValue
            }

            var header: Header?
            var created: Bool?
            var canceled: Bool?
            var cancelReason: String?
            var compactRevision: Number?
            var fragment: Bool?
            var events: [Event]?
        }

        /// An error; in a stream the code has another name.
        struct Failure: Decodable {
            var code: Int?
            var grpcCode: Int?
            var message: String?

            var failure: EtcdFailure {
                .answered(code: self.code ?? self.grpcCode ?? 2, String((self.message ?? "").prefix(300)))
            }
        }

        /// A line of a stream.
        struct Line<Result: Decodable>: Decodable {
            var result: Result?
            var error: Failure?
        }
    }
}
