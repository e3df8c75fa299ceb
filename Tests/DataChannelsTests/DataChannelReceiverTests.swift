// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DataChannels

@Suite struct DataChannelReceiverTests {
    @Test func checksumOfTheStandard() {
        // RFC 3720 appendix B.4: 32 bytes of zeroes, of ones, rising.
        let expected: [([UInt8], [UInt8])] = [
            (Array(repeating: 0, count: 32), [0xAA, 0x36, 0x91, 0x8A]),
            (Array(repeating: 0xFF, count: 32), [0x43, 0xAB, 0xA8, 0x62]),
            (Array(0..<32), [0x4E, 0x79, 0xDD, 0x46]),
        ]
        for (bytes, sum) in expected { #expect(CRC32C.bytes(of: bytes, clearing: 0..<0) == sum) }
    }

    @Test func aChannelIsOpenedAndWrittenInto() {
        var peer = SendingPeer()
        peer.establish()
        #expect(peer.heard.last?.kind == .cookieAcknowledgement)
        peer.send([peer.open("chat", stream: 7)])
        #expect(peer.receiver.channels == ["chat"])
        // The number of the first chunk and the first of our own.
        #expect(peer.acknowledged?.number == 0xFFFF_FFFE)
        let acknowledgement = peer.heard.last
        #expect(acknowledgement?.kind == .data)
        #expect(acknowledgement.map { Array($0.value.dropFirst(4)) } == [0, 7, 0, 0, 0, 0, 0, 50, 2])
        peer.now = 5
        peer.send([peer.text("hello", stream: 7), peer.text("wörld", stream: 7)])
        #expect(peer.messages.map(\.text) == ["hello", "wörld"])
        #expect(peer.messages.allSatisfy { $0.label == "chat" && $0.arrivalNanoseconds == 5 })
        #expect(peer.acknowledged?.number == 0)
        #expect(peer.acknowledged?.blocks == 0)
    }

    /// The DATA chunks of a packet: stream, number in the stream, protocol and bytes.
    private func written(_ packets: [[UInt8]]?) -> [[UInt8]] {
        (packets ?? []).compactMap { SCTPPacket($0) }.flatMap(\.chunks).filter { $0.kind == .data }
            .map { Array($0.value.dropFirst(4)) }
    }

    @Test func aTextGoesIntoTheChatAndIsRepeatedUntilItIsAcknowledged() {
        var peer = SendingPeer()
        #expect(peer.receiver.write("early") == nil)
        peer.establish()
        #expect(peer.receiver.write("early") == nil, "there is no channel")
        peer.send([peer.open("files", stream: 2), peer.open("Team chat", stream: 6)])
        let packets = peer.receiver.write("wörd")
        #expect(self.written(packets) == [[0, 6, 0, 1, 0, 0, 0, 51] + Array("wörd".utf8)])
        // The acknowledgements of the channels are not answered either.
        #expect(self.written(peer.receiver.repeatUnacknowledged()).count == 3)
        let last = peer.receiver.repeatUnacknowledged().compactMap { SCTPPacket($0) }.flatMap(\.chunks).last
        var reader = ByteReader(last?.value ?? [])
        let number = reader.uint32() ?? 0
        let empty = SendingPeer.number(UInt32(9_999)) + SendingPeer.number(UInt32(0))
        peer.send([SCTPChunk(.selectiveAcknowledgement, SendingPeer.number(number) + empty)])
        #expect(!peer.receiver.awaitsAcknowledgement)
        #expect(peer.receiver.write("") == nil)
        #expect(peer.receiver.write(String(repeating: "x", count: 1_001)) == nil)
        let longest = peer.receiver.write(String(repeating: "x", count: 1_000))
        #expect(longest?.count == 1 && longest?.first.map { $0.count < 1_200 } == true)
    }

    @Test func aTextGoesIntoTheFirstChannelIfNoneIsCalledChat() {
        var peer = SendingPeer()
        peer.establish()
        peer.send([peer.open("b", stream: 4), peer.open("a", stream: 3)])
        #expect(self.written(peer.receiver.write("x")).first?.prefix(2) == [0, 3])
    }

    @Test func whatAPeerNeverAcknowledgesIsBounded() {
        var peer = SendingPeer()
        peer.establish()
        peer.send([peer.open("chat")])
        let taken = (0..<1_000).filter { _ in peer.receiver.write("x") != nil }.count
        #expect(taken < DataChannelLimits.channels)
    }

    @Test func textMayComeWithTheCookieAndWithoutAChannel() {
        var peer = SendingPeer()
        let cookie = peer.begin()
        peer.send([SCTPChunk(.cookieEcho, cookie), peer.text("early")])
        #expect(peer.messages.map(\.text) == ["early"])
        #expect(peer.messages.first?.label == "")
    }

    @Test func whatIsMissingIsAwaited() {
        var peer = SendingPeer()
        peer.establish()
        let chunks = (0..<5).map { peer.text("\($0)") }
        peer.send([chunks[0]])
        peer.send([chunks[2]])
        peer.send([chunks[4]])
        #expect(peer.messages.map(\.text) == ["0"])
        #expect(peer.acknowledged?.blocks == 2)
        peer.send([chunks[1], chunks[1]])
        #expect(peer.messages.map(\.text) == ["0", "1", "2"])
        peer.send([chunks[0], chunks[3]])
        #expect(peer.messages.map(\.text) == ["0", "1", "2", "3", "4"])
        #expect(peer.acknowledged?.number == 2)
    }

    @Test func fragmentsBecomeAMessage() {
        var peer = SendingPeer()
        peer.establish()
        let chunks = [
            peer.data(Array("one ".utf8), flags: 2), peer.data(Array("two ".utf8), flags: 0),
            peer.data(Array("three".utf8), flags: 1),
        ]
        peer.send([chunks[0]])
        peer.send([chunks[2]])
        #expect(peer.messages.isEmpty)
        peer.send([chunks[1]])
        #expect(peer.messages.map(\.text) == ["one two three"])
    }

    @Test func aLongMessageIsCutAndAcknowledgedWhole() {
        var peer = SendingPeer()
        peer.establish()
        let piece = Array(repeating: UInt8(ascii: "x"), count: 1000)
        for index in 0..<200 {
            peer.now += SendingPeer.second
            peer.send([peer.data(piece, flags: index == 0 ? 2 : index == 199 ? 1 : 0)])
        }
        #expect(peer.messages.map(\.text.utf8.count) == [DataChannelLimits.messageBytes])
        #expect(peer.receiver.counters.cut == 1)
        #expect(peer.acknowledged?.number == peer.next &- 1)
    }

    @Test func whatIsGivenUpHoldsNothingUp() {
        var peer = SendingPeer()
        peer.establish()
        _ = peer.data(Array("lost".utf8))
        let begun = peer.data(Array("begun ".utf8), flags: 2)
        _ = peer.data(Array("lost".utf8), flags: 1)
        let whole = peer.text("whole")
        peer.send([begun])
        peer.send([whole])
        #expect(peer.messages.isEmpty)
        peer.send([SCTPChunk(.forwardTSN, SendingPeer.number(peer.next &- 2))])
        #expect(peer.messages.map(\.text) == ["whole"])
        #expect(peer.acknowledged?.number == peer.next &- 1)
        // Backwards nothing happens.
        peer.send([SCTPChunk(.forwardTSN, SendingPeer.number(peer.next &- 9))])
        #expect(peer.acknowledged?.number == peer.next &- 1)
    }

    @Test func onlyTextIsHandedOver() {
        var peer = SendingPeer()
        peer.establish()
        peer.send([
            peer.data([1, 2], identifier: 53), peer.data([0], identifier: 56), peer.data([0], identifier: 57),
            peer.data([1], identifier: 99), peer.text("text"), peer.data([0xFF], identifier: 51),
        ])
        #expect(peer.messages.map(\.text) == ["text", "\u{FFFD}"])
        #expect(peer.receiver.counters.binary == 3)
    }

    @Test func aFloodIsCutToTheRate() {
        var peer = SendingPeer()
        peer.establish()
        for index in 0..<200 { peer.send([peer.text("\(index)")]) }
        #expect(peer.messages.count == DataChannelLimits.messagesPerSecond)
        #expect(peer.receiver.counters.tooMany == 150)
        peer.now += SendingPeer.second / 2
        for index in 0..<100 { peer.send([peer.text("\(index)")]) }
        #expect(peer.messages.count == DataChannelLimits.messagesPerSecond * 3 / 2)
        // All of it is acknowledged: the peer does not repeat it.
        #expect(peer.acknowledged?.number == peer.next &- 1)
    }

    @Test func moreChannelsThanTheLimitAreNotOpened() {
        var peer = SendingPeer()
        peer.establish()
        for stream in 0..<100 {
            let chunk = peer.open("c\(stream)", stream: UInt16(stream))
            peer.send([chunk])
            peer.send([SCTPChunk(.selectiveAcknowledgement, SendingPeer.number(peer.theirTag &+ 200))])
        }
        #expect(peer.receiver.channels.count == DataChannelLimits.channels)
        #expect(peer.receiver.counters.refusedChannels == 36)
    }

    @Test func whatIsNotAcknowledgedIsRepeatedAndGivenUp() {
        var peer = SendingPeer()
        peer.establish()
        #expect(!peer.receiver.awaitsAcknowledgement)
        peer.send([peer.open("chat")])
        #expect(peer.receiver.awaitsAcknowledgement)
        let first = peer.heard.last
        for _ in 0..<DataChannelLimits.repetitions {
            peer.heard = []
            peer.take(peer.receiver.repeatUnacknowledged())
            #expect(peer.heard == [first])
        }
        #expect(peer.receiver.repeatUnacknowledged().isEmpty)
        #expect(!peer.receiver.awaitsAcknowledgement)
        peer.send([peer.open("again", stream: 2)])
        #expect(peer.receiver.awaitsAcknowledgement)
        peer.send([SCTPChunk(.selectiveAcknowledgement, SendingPeer.number(peer.theirTag &+ 1))])
        #expect(!peer.receiver.awaitsAcknowledgement)
    }

    /// Thousands of streams are closed while our first request is not answered.
    @Test func requestsNameNoMoreStreamsThanMayBeOpen() {
        var peer = SendingPeer()
        peer.establish()
        var requests: [UInt32: [UInt16]] = [:]
        func parameters() -> [SCTPParameter] {
            peer.heard.last.map { $0.kind == .reconfiguration ? SCTPParameter.list($0.value) : [] } ?? []
        }
        func note() -> UInt32? {
            var number: UInt32?
            for parameter in parameters() where parameter.type == SCTPParameter.outgoingResetRequest {
                var reader = ByteReader(parameter.value)
                number = reader.uint32()
                _ = reader.bytes(8)
                var streams: [UInt16] = []
                while let stream = reader.uint16() { streams.append(stream) }
                if let number { requests[number] = streams }
            }
            return number
        }
        let rounds = 50
        for round in 0..<rounds {
            for stream in 0..<DataChannelLimits.channels {
                let chunk = peer.open("c", stream: UInt16(round * DataChannelLimits.channels + stream))
                peer.send([chunk, SCTPChunk(.selectiveAcknowledgement, SendingPeer.number(peer.theirTag &+ 10_000))])
            }
            let last = SendingPeer.number(UInt32(round)) + SendingPeer.number(UInt32(0))
            let reset = (last + SendingPeer.number(peer.next &- 1))[...]
            // More than a chunk may have: what is too much is not answered.
            let list = [SCTPParameter](repeating: SCTPParameter(type: 13, value: reset), count: 60)
            peer.send([SCTPChunk(.reconfiguration, SCTPParameter.bytes(list))])
            #expect(parameters().map(\.type) == [16, 16, 13])
        }
        var number = note()
        while let open = number {
            let answer = SCTPParameter(type: 16, value: (SendingPeer.number(open) + [0, 0, 0, 1])[...])
            peer.send([SCTPChunk(.reconfiguration, SCTPParameter.bytes([answer]))])
            number = peer.receiver.awaitsAcknowledgement ? note() : nil
            guard number != open else { break }
        }
        #expect(requests.values.allSatisfy { $0.count <= DataChannelLimits.channels })
        #expect(requests.values.flatMap { $0 }.sorted() == (0..<UInt16(rounds * DataChannelLimits.channels)).map { $0 })
    }

    @Test func aClosedChannelIsResetOnBothSides() {
        var peer = SendingPeer()
        peer.establish()
        peer.send([peer.open("chat", stream: 4)])
        peer.send([SCTPChunk(.selectiveAcknowledgement, SendingPeer.number(peer.theirTag))])
        func reset(_ number: UInt32, after last: UInt32) -> SCTPChunk {
            let value = SendingPeer.number(number) + SendingPeer.number(UInt32(0)) + SendingPeer.number(last)
            let parameter = SCTPParameter(type: 13, value: (value + SendingPeer.number(UInt16(4)))[...])
            return SCTPChunk(.reconfiguration, SCTPParameter.bytes([parameter]))
        }
        func results(_ chunk: SCTPChunk?) -> [(type: UInt16, value: [UInt8])] {
            SCTPParameter.list(chunk?.value ?? []).map { ($0.type, Array($0.value)) }
        }
        // Something is still under way.
        peer.send([reset(9, after: peer.next)])
        #expect(results(peer.heard.last).map(\.value) == [SendingPeer.number(UInt32(9)) + [0, 0, 0, 6]])
        #expect(peer.receiver.channels == ["chat"])
        peer.send([reset(10, after: peer.next &- 1)])
        let reply = results(peer.heard.last)
        #expect(reply.map(\.type) == [16, 13])
        #expect(reply.first?.value == SendingPeer.number(UInt32(10)) + [0, 0, 0, 1])
        #expect(reply.last?.value.suffix(2) == [0, 4])
        #expect(peer.receiver.channels.isEmpty)
        #expect(peer.receiver.awaitsAcknowledgement)
        let number = reply.last.map { Array($0.value.prefix(4)) } ?? []
        let answer = SCTPParameter(type: 16, value: (number + [0, 0, 0, 1])[...])
        peer.send([SCTPChunk(.reconfiguration, SCTPParameter.bytes([answer]))])
        #expect(!peer.receiver.awaitsAcknowledgement)
        // The stream can be used again, from its first message on.
        peer.send([peer.open("other", stream: 4)])
        #expect(peer.receiver.channels == ["other"])
        #expect(peer.heard.last.map { Array($0.value.dropFirst(4).prefix(4)) } == [0, 4, 0, 0])
    }

    @Test func repliesThatGotLostAreGivenAgain() {
        var peer = SendingPeer()
        let cookie = peer.begin()
        let tag = peer.theirTag
        #expect(peer.begin() == cookie)
        #expect(peer.theirTag == tag)
        peer.send([SCTPChunk(.cookieEcho, cookie)])
        peer.send([peer.open("chat")])
        peer.heard = []
        peer.send([SCTPChunk(.cookieEcho, cookie)])
        #expect(peer.heard.map(\.kind) == [.cookieAcknowledgement])
        #expect(peer.receiver.channels == ["chat"])
    }

    @Test func aPeerMayBeginAnew() {
        var peer = SendingPeer()
        peer.establish()
        peer.send([peer.open("old")])
        let before = peer.theirTag
        var again = SendingPeer(tag: 0x1234, first: 1)
        again.receiver = peer.receiver
        let cookie = again.begin()
        #expect(again.theirTag != before)
        // Nothing changes until the cookie is shown.
        again.send([SCTPChunk(.cookieEcho, [1, 2, 3])])
        #expect(again.receiver.channels == ["old"])
        again.send([SCTPChunk(.cookieEcho, cookie)])
        #expect(again.receiver.channels.isEmpty)
        again.send([again.text("new")])
        #expect(again.messages.map(\.text) == ["new"])
    }

    @Test func heartbeatsAndFarewellsAreAnswered() {
        var peer = SendingPeer()
        peer.establish()
        peer.send([SCTPChunk(.heartbeat, [0, 1, 0, 8, 1, 2, 3, 4])])
        #expect(peer.heard.last == SCTPChunk(.heartbeatAcknowledgement, [0, 1, 0, 8, 1, 2, 3, 4]))
        // Unknown chunks that may be skipped are, others end the packet.
        peer.send([SCTPChunk(type: 0xC1, flags: 0, value: [1]), peer.text("a")])
        peer.send([SCTPChunk(type: 0x41, flags: 0, value: [1]), peer.text("b")])
        #expect(peer.messages.map(\.text) == ["a"])
        peer.send([SCTPChunk(.shutdown, SendingPeer.number(UInt32(0)))])
        #expect(peer.heard.last?.kind == .shutdownAcknowledgement)
        peer.send([SCTPChunk(.shutdownComplete)])
        let malformed = peer.receiver.counters.malformed
        peer.send([peer.text("c")])
        #expect(peer.receiver.counters.malformed == malformed + 1)
        #expect(peer.messages.map(\.text) == ["a"])
    }

    @Test func packetsOfOthersAreNotTaken() {
        var peer = SendingPeer()
        peer.establish()
        let said = peer.heard.count
        let chunk = peer.text("x")
        peer.send([chunk], tag: peer.theirTag &+ 1)
        var broken = SCTPPacket(
            sourcePort: 5001,
            destinationPort: 5000,
            verificationTag: peer.theirTag,
            chunks: [chunk]
        )
        .bytes
        broken[20] ^= 1
        peer.take(peer.receiver.received(broken, at: 1))
        let elsewhere = SCTPPacket(
            sourcePort: 5001,
            destinationPort: 5002,
            verificationTag: peer.theirTag,
            chunks: [chunk]
        )
        peer.take(peer.receiver.received(elsewhere.bytes, at: 1))
        peer.take(peer.receiver.received([], at: 1))
        #expect(peer.messages.isEmpty)
        #expect(peer.heard.count == said)
        #expect(peer.receiver.counters.malformed == 4)
        // A tag of zero, no streams.
        peer.send([SendingPeer.initiation(tag: 0, first: 1)], tag: 0)
        #expect(peer.heard.count == said)
    }

    /// Whatever comes, nothing traps, and what is kept stays within its bounds.
    @Test(arguments: 0..<40) func noiseIsSurvived(seed: Int) {
        var random = SplitMix(state: UInt64(seed))
        var peer = SendingPeer(tag: random.next(), first: random.next())
        peer.establish()
        for _ in 0..<500 {
            peer.now += Int64(random.next(upTo: 100_000_000))
            var chunks: [SCTPChunk] = []
            for _ in 0..<random.next(upTo: 4) {
                let bytes = (0..<random.next(upTo: 40)).map { _ in UInt8(truncatingIfNeeded: random.next() as UInt64) }
                let near = SendingPeer.number(peer.next &+ UInt32(random.next(upTo: 8)) &- 4)
                switch random.next(upTo: 6) {
                case 0: chunks.append(peer.data(bytes, identifier: UInt32(50 + random.next(upTo: 8))))
                case 1: chunks.append(peer.data(bytes, flags: UInt8(random.next(upTo: 8))))
                case 2: chunks.append(SCTPChunk(.data, flags: 3, near + bytes))
                case 3: chunks.append(SCTPChunk(.forwardTSN, near + bytes))
                case 4:
                    chunks.append(SCTPChunk(.reconfiguration, [0, 13, 0, UInt8(random.next(upTo: 30))] + near + bytes))
                default:
                    chunks.append(
                        SCTPChunk(type: UInt8(truncatingIfNeeded: random.next() as UInt64), flags: 0, value: bytes[...])
                    )
                }
            }
            peer.send(chunks)
            peer.take(peer.receiver.repeatUnacknowledged())
            peer.heard = []
        }
        #expect(peer.receiver.channels.count <= DataChannelLimits.channels)
        #expect(peer.messages.allSatisfy { $0.text.utf8.count <= 3 * DataChannelLimits.messageBytes })
    }
}

/// Random numbers that are the same in every run.
struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func next() -> UInt32 { max(1, UInt32(truncatingIfNeeded: self.next() as UInt64)) }
    mutating func next(upTo bound: Int) -> Int { Int(truncatingIfNeeded: (self.next() as UInt64) % UInt64(bound)) }
}
