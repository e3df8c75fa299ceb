// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Coordination

@Suite(.timeLimit(.minutes(1))) struct EtcdWatchInboxTests {
    private static func add(_ bytes: [UInt8], to inbox: EtcdWatchInbox) {
        bytes.withUnsafeBytes { inbox.add($0) }
    }

    @Test func bytesAreFoundOnceAndTheEndBehindThem() async {
        let inbox = EtcdWatchInbox()
        #expect(!inbox.hasBegun)
        Self.add([1], to: inbox)
        Self.add([2], to: inbox)
        #expect(inbox.hasBegun)
        #expect(await inbox.next() == .init(bytes: [1, 2]))
        Self.add([3], to: inbox)
        inbox.end(.failed(.lost("w")))
        inbox.end(.interrupted)
        Self.add([4], to: inbox)
        #expect(await inbox.next() == .init(bytes: [3], end: .failed(.lost("w"))))
    }

    @Test func moreThanItHoldsEndsIt() async {
        let inbox = EtcdWatchInbox()
        let bytes = Array(repeating: UInt8(7), count: EtcdWatchInbox.maximumBytes)
        Self.add(bytes, to: inbox)
        Self.add([8], to: inbox)
        Self.add([], to: inbox)
        #expect(await inbox.next() == .init(bytes: bytes, end: .interrupted))
    }

    @Test func aReaderThatIsCancelledWaitsNoMore() async {
        let inbox = EtcdWatchInbox()
        let reader = Task { await inbox.next() }
        reader.cancel()
        #expect(await reader.value == nil)
    }
}
