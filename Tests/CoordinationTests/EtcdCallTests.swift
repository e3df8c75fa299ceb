// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Testing

@testable import Coordination

/// What is sent, letter for letter, as etcd 3.4 took it from curl.
@Suite struct EtcdCallTests {
    @Test(
        arguments: [
            (
                EtcdCall.range(prefix: "a/", from: nil, limit: 250, at: nil), "/v3/kv/range",
                #"{"key":"YS8=","limit":"250","range_end":"YTA="}"#
            ),
            (
                EtcdCall.range(prefix: "a/", from: Array("a/1\0".utf8), limit: 1, at: Revision(9)), "/v3/kv/range",
                #"{"key":"YS8xAA==","limit":"1","range_end":"YTA=","revision":"9"}"#
            ),
            (
                EtcdCall.range(prefix: "é", from: nil, limit: 1, at: nil), "/v3/kv/range",
                #"{"key":"w6k=","limit":"1","range_end":"w6o="}"#
            ),
            (
                EtcdCall.range(prefix: "", from: nil, limit: 1, at: nil), "/v3/kv/range",
                #"{"key":"AA==","limit":"1","range_end":"AA=="}"#
            ),
            (EtcdCall.grant(.seconds(4)), "/v3/lease/grant", #"{"TTL":"4"}"#),
            (EtcdCall.grant(.milliseconds(3001)), "/v3/lease/grant", #"{"TTL":"4"}"#),
            (EtcdCall.keepAlive(LeaseID(.max)), "/v3/lease/keepalive", #"{"ID":"9223372036854775807"}"#),
            (EtcdCall.revoke(LeaseID(7)), "/v3/lease/revoke", #"{"ID":"7"}"#),
            (EtcdCall.status, "/v3/maintenance/status", "{}"),
            (
                EtcdCall.authenticate(.init(name: "a", password: Secret("b\"c"))), "/v3/auth/authenticate",
                #"{"name":"a","password":"b\"c"}"#
            ),
            (
                EtcdCall.watch(prefix: "a/", from: Revision(3)), "/v3/watch",
                #"{"create_request":{"fragment":true,"key":"YS8=","range_end":"YTA=","start_revision":"3"}}"#
            ),
        ]
    )
    func isWrittenAsEtcdTakesIt(_ call: EtcdCall, _ path: String, _ body: String) {
        #expect(call.path == path)
        #expect(call.body.text == body)
        #expect(call.isRepeatable)
        #expect(call.isRenewal == (path == "/v3/lease/keepalive"))
    }

    @Test func aTransactionIsWrittenAsEtcdTakesIt() throws {
        let transaction = StoreTransaction(
            if: [.created(key: "a", .none), .modified(key: "b", Revision(3))],
            then: [.put(key: "a", value: "ü", lease: LeaseID(5)), .put(key: "b", value: ""), .delete(key: "c")],
            else: [.get(key: "a")]
        )
        let call = try EtcdCall.transaction(transaction)
        #expect(call.path == "/v3/kv/txn")
        #expect(!call.isRepeatable)
        #expect(
            call.body.text == #"{"compare":["#
                + #"{"create_revision":"0","key":"YQ==","result":"EQUAL","target":"CREATE"},"#
                + #"{"key":"Yg==","mod_revision":"3","result":"EQUAL","target":"MOD"}],"#
                + #""failure":[{"request_range":{"key":"YQ=="}}],"#
                + #""success":[{"request_put":{"key":"YQ==","lease":"5","value":"w7w="}},"#
                + #"{"request_put":{"key":"Yg==","value":""}},{"request_delete_range":{"key":"Yw=="}}]}"#
        )
    }

    @Test func whatIsTooLargeIsNotSent() throws {
        let largest = String(repeating: "x", count: EtcdCall.maximumValueBytes)
        let limit = StoreTransaction.maximumOperations
        let gets = (0...limit).map { StoreTransaction.Operation.get(key: "\($0)") }
        let conditions = (0...limit).map { StoreTransaction.Condition.created(key: "\($0)", .none) }
        _ = try EtcdCall.transaction(StoreTransaction(if: [], then: [.put(key: "a", value: largest)]))
        _ = try EtcdCall.transaction(
            StoreTransaction(if: conditions.dropLast(), then: gets.dropLast(), else: gets.dropLast())
        )
        for transaction in [
            StoreTransaction(if: [], then: [.put(key: "a", value: largest + "x")]),
            StoreTransaction(if: [], then: [], else: [.put(key: "a", value: largest + "x")]),
            StoreTransaction(if: [], then: gets), StoreTransaction(if: [], then: [], else: gets),
            StoreTransaction(if: conditions, then: []),
        ] {
            #expect { try EtcdCall.transaction(transaction) } throws: { error in
                guard case .refused? = error as? StoreError else { return false }
                return true
            }
        }
    }
}
