// SPDX-License-Identifier: Apache-2.0

import Cluster
import Testing

@testable import Coordination

/// Answers as etcd 3.4.23 gave them to curl.
@Suite struct EtcdAnswerTests {
    private static let header =
        #""header":{"cluster_id":"12101053776118486841","member_id":"15985099378392235387","revision":"7","raft_term":"2"}"#

    private static func bytes(_ text: String) -> [UInt8] { Array(text.replacing("HEADER", with: Self.header).utf8) }

    private static func value(
        _ key: String,
        _ value: String,
        _ created: Int64,
        _ modified: Int64,
        _ lease: Int64? = nil
    )
        -> StoredValue
    {
        StoredValue(
            key: key,
            value: value,
            created: Revision(created),
            modified: Revision(modified),
            lease: lease.map(LeaseID.init)
        )
    }

    @Test func aPageIsRead() throws {
        let page = try EtcdAnswer.page(
            Self.bytes(
                #"{HEADER,"kvs":[{"key":"YS8x","create_revision":"2","mod_revision":"5","version":"2","value":"eA==","#
                    + #""lease":"9041998972075202053"},{"key":"/wA=","create_revision":"6","mod_revision":"6"}],"#
                    + #""more":true,"count":"3"}"#
            )
        )
        // What is no UTF-8 goes on behind its own bytes.
        #expect(
            page
                == EtcdAnswer.Page(
                    values: [
                        Self.value("a/1", "x", 2, 5, 9_041_998_972_075_202_053), Self.value("\u{FFFD}\0", "", 6, 6),
                    ],
                    lastKey: [0xFF, 0],
                    revision: Revision(7),
                    hasMore: true
                )
        )
        let nothing = try EtcdAnswer.page(Self.bytes("{HEADER}"))
        #expect(nothing == EtcdAnswer.Page(values: [], lastKey: nil, revision: Revision(7), hasMore: false))
    }

    @Test func aLargeValueIsCutOff() throws {
        let text = String(repeating: "AAAA", count: 30_000)
        let page = try EtcdAnswer.page(Self.bytes(#"{HEADER,"kvs":[{"key":"YQ==","value":"\#(text)"}]}"#))
        #expect(page.values.first?.value.utf8.count == EtcdCall.maximumValueBytes)
    }

    @Test func resultsOfTransactionsAreRead() throws {
        let claim = StoreTransaction(
            if: [.created(key: "a/1", .none)],
            then: [.put(key: "a/1", value: "x"), .get(key: "a/2"), .delete(key: "b"), .get(key: "a/1")],
            else: [.get(key: "a/1"), .get(key: "a/3")]
        )
        let done =
            #"{HEADER,"succeeded":true,"responses":[{"response_put":{"header":{"revision":"2"}}},"#
            + #"{"response_range":{"header":{"revision":"2"}}},{"response_delete_range":{"header":{"revision":"2"}}},"#
            + #"{"response_range":{"kvs":[{"key":"YS8x","create_revision":"7","mod_revision":"7","value":"eA=="}],"count":"1"}}]}"#
        #expect(
            try EtcdAnswer.result(Self.bytes(done), of: claim)
                == StoreTransactionResult(
                    hasSucceeded: true,
                    revision: Revision(7),
                    values: [nil, Self.value("a/1", "x", 7, 7)]
                )
        )
        let refused =
            #"{HEADER,"responses":[{"response_range":{"kvs":[{"key":"YS8x","create_revision":"2","#
            + #""mod_revision":"2","value":"eQ==","lease":"5"}],"count":"1"}},{"response_range":{}}]}"#
        #expect(
            try EtcdAnswer.result(Self.bytes(refused), of: claim)
                == StoreTransactionResult(
                    hasSucceeded: false,
                    revision: Revision(7),
                    values: [Self.value("a/1", "y", 2, 2, 5), nil]
                )
        )
        // An answer to another question.
        for text in ["{HEADER}", #"{HEADER,"succeeded":true}"#, #"{"succeeded":true}"#] {
            #expect(throws: EtcdAnswer.nonsense) { try EtcdAnswer.result(Self.bytes(text), of: claim) }
        }
    }

    @Test func leasesAreRead() throws {
        let (lease, duration) = try EtcdAnswer.granted(Self.bytes(#"{HEADER,"ID":"9041998972075202053","TTL":"4"}"#))
        #expect(lease == LeaseID(9_041_998_972_075_202_053) && duration == .seconds(4))
        for text in [#"{HEADER,"TTL":"4"}"#, #"{HEADER,"ID":"5"}"#, #"{HEADER,"ID":"0","TTL":"4"}"#, "[]", ""] {
            #expect(throws: EtcdAnswer.nonsense) { try EtcdAnswer.granted(Self.bytes(text)) }
        }
    }

    /// A lease that is gone is renewed with success, and without a duration.
    @Test(
        arguments: [(#","TTL":"4""#, .seconds(4)), (#","TTL":4"#, .seconds(4)), ("", nil), (#","TTL":"0""#, nil)]
            as [(String, Duration?)]
    )
    func renewalsAreRead(_ ttl: String, _ duration: Duration?) throws {
        let answer = Self.bytes(#"{"result":{HEADER,"ID":"5"\#(ttl)}}"# + "\n")
        #expect(try EtcdAnswer.renewed(answer, LeaseID(5)) == duration)
        #expect(throws: EtcdAnswer.nonsense) { try EtcdAnswer.renewed(answer, LeaseID(6)) }
    }

    @Test func aRenewalThatFailedIsNone() {
        let failed = Self.bytes(
            #"{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader","http_status":"S"}}"#
        )
        #expect(throws: EtcdFailure.answered(code: 14, "etcdserver: no leader")) {
            try EtcdAnswer.renewed(failed, LeaseID(5))
        }
        #expect(throws: EtcdAnswer.nonsense) { try EtcdAnswer.renewed(Self.bytes("{}"), LeaseID(5)) }
    }

    @Test func tokensAndStatesAreRead() throws {
        #expect(try EtcdAnswer.token(Self.bytes(#"{HEADER,"token":"IERLLfhfTtWKrYSg.13"}"#)) == "IERLLfhfTtWKrYSg.13")
        #expect(throws: EtcdAnswer.nonsense) { try EtcdAnswer.token(Self.bytes("{HEADER}")) }
        let status =
            #"{HEADER,"version":"3.4.23","dbSize":"32768","leader":"15985099378392235387","raftIndex":"4","#
            + #""errors":["memberID:1 alarm:NOSPACE "]}"#
        let id = "15985099378392235387"
        let expected = EtcdStatus(
            version: "3.4.23",
            member: id,
            leader: id,
            revision: 7,
            databaseBytes: 32768,
            problems: ["memberID:1 alarm:NOSPACE "]
        )
        #expect(try EtcdAnswer.status(Self.bytes(status)) == expected)
        #expect(try EtcdAnswer.status(Self.bytes(#"{HEADER,"version":"3.4.23"}"#)).leader == nil)
    }

    @Test(
        arguments: [
            (#"{"error":"w","message":"w","code":5}"#, .answered(code: 5, "w")),
            (#"{"code":16,"message":"w","details":[]}"#, .answered(code: 16, "w")),
            ("Not Found\n", .lost("HTTP status 404, and the answer is not etcd's")),
            (#"{"error":"not found"}"#, .lost("HTTP status 404, and the answer is not etcd's")),
        ] as [(String, EtcdFailure)]
    )
    func failuresAreReadByCode(_ text: String, _ failure: EtcdFailure) {
        #expect(EtcdAnswer.failure(status: 404, Array(text.utf8)) == failure)
    }

    private static let put = StoreRequest.transact(StoreTransaction(if: [], then: []))

    @Test(
        arguments: [
            (.notSent("w"), .revoke(LeaseID(1)), .unreachable("u: w")), (.lost("w"), Self.put, .unreachable("u: w")),
            (.tooLarge, .list(prefix: ""), .refused("u: the answer is too large")),
            (.answered(code: 5, "w"), Self.put, .leaseNotFound),
            (.answered(code: 5, "w"), .revoke(LeaseID(1)), .leaseNotFound),
            (.answered(code: 5, "w"), .list(prefix: ""), .refused("u: w")),
            (.answered(code: 8, "w"), Self.put, .full("u: w")),
            (.answered(code: 8, "w"), .grant(duration: .seconds(4)), .full("u: w")),
            (.answered(code: 8, "w"), .keepAlive(LeaseID(1)), .unreachable("u: w")),
            (.answered(code: 3, "w"), Self.put, .refused("u: w")),
            (.answered(code: 7, "w"), Self.put, .refused("u: w")),
            (.answered(code: 16, "w"), Self.put, .refused("u: w")),
            (.answered(code: 14, "w"), Self.put, .unreachable("u: w")),
            (.answered(code: 4, "w"), .list(prefix: ""), .unreachable("u: w")),
        ] as [(EtcdFailure, StoreRequest, StoreError)]
    )
    func errorsAreToldByCode(_ failure: EtcdFailure, _ request: StoreRequest, _ error: StoreError) {
        #expect(failure.error(for: request, at: "u") == error)
    }

    /// Whether another member is asked, if it may have been carried out and if it is done no twice.
    @Test(
        arguments: [
            (.notSent("w"), true, true), (.lost("w"), true, false), (.tooLarge, false, false),
            (.answered(code: 14, "w"), true, false), (.answered(code: 2, "w"), true, false),
            (.answered(code: 7, "w"), false, false), (.answered(code: 8, "w"), false, false),
        ] as [(EtcdFailure, Bool, Bool)]
    )
    func anotherMemberIsAsked(_ failure: EtcdFailure, _ repeatable: Bool, _ other: Bool) {
        #expect(failure.isWorthAnother(true) == repeatable)
        #expect(failure.isWorthAnother(false) == other)
    }
}
