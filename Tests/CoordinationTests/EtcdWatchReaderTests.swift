// SPDX-License-Identifier: Apache-2.0

import Cluster
import Testing

@testable import Coordination

@Suite struct EtcdWatchReaderTests {
    private static let created = #"{"result":{"header":{"revision":"9"},"created":true}}"#
    private static let put =
        #"{"result":{"header":{"revision":"99"},"events":[{"kv":{"key":"YQ==","create_revision":"3","mod_revision":"4","value":"eA==","lease":"5"}},"#
        + #"{"type":"DELETE","kv":{"key":"Yg==","mod_revision":"5"}}]}}"#
    private static let events: [StoreEvent] = [
        .put(StoredValue(key: "a", value: "x", created: Revision(3), modified: Revision(4), lease: LeaseID(5))),
        .delete(key: "b", Revision(5)),
    ]

    private static func read(_ texts: String...) -> [EtcdWatchReader.Item] {
        var reader = EtcdWatchReader()
        return texts.flatMap { reader.take(Array($0.utf8)) }
    }

    @Test func linesAreRead() {
        // Up to the last revision that came: the header tells of the store.
        #expect(
            Self.read(Self.created + "\n" + Self.put + "\r\n\n")
                == [.created(Revision(9)), .changed(Self.events, Revision(5))]
        )
    }

    @Test func aLineIsOneHoweverItsBytesCome() {
        var reader = EtcdWatchReader()
        #expect((Self.put + "\n").utf8.flatMap { reader.take([$0]) } == [.changed(Self.events, Revision(5))])
    }

    @Test func aLineThatIsNotEndedIsNone() {
        #expect(Self.read(Self.created).isEmpty)
    }

    @Test func aChangeInSeveralLinesIsOne() {
        let first =
            #"{"result":{"header":{"revision":"9"},"fragment":true,"events":[{"kv":{"key":"YQ==","create_revision":"3","mod_revision":"4","value":"eA==","lease":"5"}}]}}"#
        let last =
            #"{"result":{"header":{"revision":"9"},"events":[{"type":"DELETE","kv":{"key":"Yg==","mod_revision":"5"}}]}}"#
        #expect(Self.read(first + "\n").isEmpty)
        #expect(
            Self.read(first + "\n", last + "\n" + last + "\n")
                == [.changed(Self.events, Revision(5)), .changed([.delete(key: "b", Revision(5))], Revision(5))]
        )
    }

    @Test(
        arguments: [
            (#"{"result":{"header":{"raft_term":"2"},"canceled":true,"compact_revision":"3"}}"#, .compacted),
            (
                #"{"result":{"header":{"revision":"1"},"watch_id":"-1","created":true,"canceled":true,"cancel_reason":"rpc error"}}"#,
                .cancelled("rpc error")
            ),
            (#"{"error":{"grpc_code":14,"message":"no leader"}}"#, .failed(.answered(code: 14, "no leader"))),
            (#"{"error":{"code":14,"message":"no leader"}}"#, .failed(.answered(code: 14, "no leader"))),
            ("<html>", .failed(EtcdAnswer.nonsense)), ("{}", .failed(EtcdAnswer.nonsense)),
            (#"{"result":{"created":true}}"#, .failed(EtcdAnswer.nonsense)),
            (#"{"result":{"events":[{"kv":{"mod_revision":"5"}}]}}"#, .failed(EtcdAnswer.nonsense)),
            (#"{"result":{"events":[{"kv":{"key":"YQ=="}}]}}"#, .failed(EtcdAnswer.nonsense)),
        ] as [(String, EtcdWatchReader.Item)]
    )
    func endsAreRead(_ line: String, _ item: EtcdWatchReader.Item) {
        #expect(Self.read(line + "\n") == [item])
    }

    @Test func whatIsNoNewsIsNothing() {
        #expect(Self.read(#"{"result":{"header":{"revision":"9"}}}"# + "\n", "\r\n \n").isEmpty)
    }

    @Test func oneThatIsTooLargeIsNotHeld() {
        let piece = String(repeating: "x", count: 1 << 20)
        var reader = EtcdWatchReader()
        for _ in 0..<8 { #expect(reader.take(Array(piece.utf8)).isEmpty) }
        #expect(reader.take([0x78]) == [.tooLarge])
        // Nor one of many lines that are not.
        let value = String(repeating: "AAAA", count: 1 << 18)
        let line =
            #"{"result":{"fragment":true,"events":[{"kv":{"key":"YQ==","mod_revision":"4","value":"\#(value)"}}]}}"#
        var other = EtcdWatchReader()
        for _ in 0..<7 { #expect(other.take(Array((line + "\n").utf8)).isEmpty) }
        #expect(other.take(Array((line + "\n").utf8)) == [.tooLarge])
    }
}
