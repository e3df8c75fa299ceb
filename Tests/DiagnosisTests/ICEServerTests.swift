// SPDX-License-Identifier: Apache-2.0

import Signalling
import Testing

@testable import Diagnosis
@testable import Platform

@Suite struct STUNMessageTests {
    private static func bytes(_ text: String) -> [UInt8] {
        text.split(whereSeparator: \.isWhitespace).compactMap { UInt8($0, radix: 16) }
    }

    @Test func `a request is signed as in RFC 5769, 2.4`() throws {
        var message = STUNMessage(.bindingRequest, transaction: Self.bytes("78 ad 34 33 c6 ad 72 c0 29 da 41 2e"))
        message.set(.username, Array("\u{30DE}\u{30C8}\u{30EA}\u{30C3}\u{30AF}\u{30B9}".utf8))
        message.set(.nonce, Array("f//499k954d6OL34oL9FSTvy64sA".utf8))
        message.set(.realm, Array("example.org".utf8))
        let key = try STUNMessage.key(
            username: "\u{30DE}\u{30C8}\u{30EA}\u{30C3}\u{30AF}\u{30B9}",
            realm: "example.org",
            password: "TheMatrIX"
        )
        let expected = """
            00 01 00 60 21 12 a4 42 78 ad 34 33 c6 ad 72 c0 29 da 41 2e
            00 06 00 12 e3 83 9e e3 83 88 e3 83 aa e3 83 83 e3 82 af e3 82 b9 00 00
            00 15 00 1c 66 2f 2f 34 39 39 6b 39 35 34 64 36 4f 4c 33 34 6f 4c 39 46 53 54 76 79 36 34 73 41
            00 14 00 0b 65 78 61 6d 70 6c 65 2e 6f 72 67 00
            00 08 00 14 f6 70 24 65 6d d6 4a 3e 02 b8 e0 71 2e 85 c9 a2 8c a8 96 66
            """
        #expect(try message.bytes(key: key) == Self.bytes(expected))
    }

    @Test func `an answer is read as in RFC 5769, 2.2 and 2.3`() throws {
        let four = """
            01 01 00 3c 21 12 a4 42 b7 e7 a7 01 bc 34 d6 86 fa 87 df ae
            80 22 00 0b 74 65 73 74 20 76 65 63 74 6f 72 20 00 20 00 08 00 01 a1 47 e1 12 a6 43
            00 08 00 14 2b 91 f5 99 fd 9e 90 c3 8c 74 89 f9 2a f9 ba 53 f0 6b e7 d7 80 28 00 04 c0 7d 4c 96
            """
        let six = """
            01 01 00 18 21 12 a4 42 b7 e7 a7 01 bc 34 d6 86 fa 87 df ae
            00 20 00 14 00 02 a1 47 01 13 a9 fa a5 d3 f1 79 bc 25 f4 b5 be d2 b9 d9
            """
        let message = try #require(STUNMessage(Self.bytes(four)))
        #expect(message.kind == .bindingSuccess && message.address(.xorMappedAddress) == "192.0.2.1:32853")
        #expect(
            STUNMessage(Self.bytes(six))?.address(.xorMappedAddress)
                == "[2001:db8:1234:5678:11:2233:4455:6677]:32853"
        )
    }

    /// Each prefix, and each byte changed: nothing traps, and nothing is read beyond the end.
    @Test func `damaged messages do no harm`() {
        var message = STUNMessage(.allocateError, transaction: Array(repeating: 7, count: 12))
        message.set(.errorCode, [0, 0, 4, 1] + Array("Unauthorized".utf8))
        message.set(.xorRelayedAddress, [0, 1, 2, 3, 4, 5, 6, 7])
        let whole = message.bytes()
        for count in whole.indices { #expect(STUNMessage(Array(whole.prefix(count))) == nil) }
        for index in whole.indices {
            for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] {
                var bytes = whole
                bytes[index] = value
                guard let read = STUNMessage(bytes) else { continue }
                _ = (read.error?.code, read.address(.xorRelayedAddress))
            }
        }
    }
}

@Suite struct ICEServerTrialTests {
    private static let first = [UInt8](repeating: 1, count: 12), second = [UInt8](repeating: 2, count: 12)
    private static let third = [UInt8](repeating: 3, count: 12)

    private static func relay() -> ICEServerTrial {
        ICEServerTrial(relays: true, username: "carrot", password: "secret", transaction: Self.first)
    }

    private static func error(_ code: Int, _ transaction: [UInt8], nonce: String = "n1") -> STUNMessage {
        var message = STUNMessage(.allocateError, transaction: transaction)
        message.set(.errorCode, [0, 0, UInt8(code / 100), UInt8(code % 100)] + Array("Words".utf8))
        message.set(.realm, Array("here".utf8))
        message.set(.nonce, Array(nonce.utf8))
        return message
    }

    private static func lent(_ transaction: [UInt8]) -> STUNMessage {
        var message = STUNMessage(.allocateSuccess, transaction: transaction)
        message.set(.xorRelayedAddress, [0, 1, 0x21, 0x12, 0x21, 0x12, 0xA4, 0x42])
        return message
    }

    @Test func `a relay lends an address to who knows the password, and gets it back`() throws {
        var trial = Self.relay()
        let first = trial.firstRequest
        #expect(STUNMessage(first ?? [])?.kind == .allocateRequest)
        guard case .ask(let request) = trial.received(Self.error(401, Self.first), transaction: Self.second) else {
            Issue.record("it does not ask again")
            return
        }
        let asked = try #require(STUNMessage(request))
        #expect(asked.attributes[.username] == Array("carrot".utf8) && asked.attributes[.messageIntegrity] != nil)
        #expect(asked.transaction == Self.second && asked.attributes[.nonce] == Array("n1".utf8))
        guard case .end(let outcome, let farewell?) = trial.received(Self.lent(Self.second), transaction: Self.third)
        else {
            Issue.record("it does not end")
            return
        }
        #expect(outcome == .lent("0.0.0.0:0"))
        let last = try #require(STUNMessage(farewell))
        #expect(last.kind == .refreshRequest && last.attributes[.lifetime] == [0, 0, 0, 0])
        #expect(trial.received(Self.lent(Self.second), transaction: Self.third) == .wait)
    }

    @Test(arguments: [
        (401, ICEServerTrial.Outcome.wrongCredential), (441, .wrongCredential),
        (486, .refused(code: 486, reason: "Words")),
    ])
    func `what a relay says to a password`(_ code: Int, _ outcome: ICEServerTrial.Outcome) {
        var trial = Self.relay()
        _ = trial.received(Self.error(401, Self.first), transaction: Self.second)
        #expect(
            trial.received(Self.error(code, Self.second), transaction: Self.third) == .end(outcome, farewell: nil)
        )
    }

    @Test func `an old nonce is replaced once`() {
        var trial = Self.relay()
        _ = trial.received(Self.error(401, Self.first), transaction: Self.second)
        guard case .ask = trial.received(Self.error(438, Self.second, nonce: "n2"), transaction: Self.third) else {
            Issue.record("it does not ask again")
            return
        }
        let end = trial.received(Self.error(438, Self.third, nonce: "n3"), transaction: Self.first)
        #expect(end == .end(.refused(code: 438, reason: "Words"), farewell: nil))
    }

    @Test func `a host without MD5 cannot sign, and says so`() throws {
        var trial = ICEServerTrial(
            relays: true,
            username: "carrot",
            password: "secret",
            transaction: Self.first,
            makeKey: { (_, _, _) throws(MissingHash) -> [UInt8] in throw MissingHash(name: "MD5") }
        )
        let outcome = ICEServerTrial.Outcome.unsigned("libcrypto has no MD5 on this host")
        #expect(
            trial.received(Self.error(401, Self.first), transaction: Self.second) == .end(outcome, farewell: nil)
        )
        let finding = outcome.finding(try ICEServerURL(parsing: "turn:h"))
        #expect(finding.level == .warning && finding.found.hasSuffix("password: libcrypto has no MD5 on this host"))
    }

    @Test func `answers to nobody's question are ignored`() {
        var trial = Self.relay()
        #expect(trial.received(Self.lent(Self.second), transaction: Self.third) == .wait)
        #expect(
            trial.received(STUNMessage(.bindingSuccess, transaction: Self.first), transaction: Self.third)
                == .end(.strange, farewell: nil)
        )
    }

    @Test func `a STUN server says how it sees us`() {
        var trial = ICEServerTrial(relays: false, username: "", password: "", transaction: Self.first)
        var answer = STUNMessage(.bindingSuccess, transaction: Self.first)
        answer.set(.xorMappedAddress, [0, 1, 0x21, 0x13, 0x21, 0x12, 0xA4, 0x43])
        #expect(trial.received(answer, transaction: Self.second) == .end(.seen("0.0.0.1:1"), farewell: nil))
    }

    @Test func `findings name the server and what to do, and no terminal's commands`() throws {
        let url = try ICEServerURL(parsing: "turn:turn.example.org?transport=tcp")
        let silent = ICEServerTrial.Outcome.silent.finding(url)
        #expect(
            silent.level == .warning && silent.found.hasPrefix("turn:turn.example.org:3478?transport=tcp: no answer")
        )
        #expect(silent.remedy?.contains("TCP through to port 3478") == true)
        #expect(ICEServerTrial.Outcome.lent("192.0.2.1:5").finding(url).level == .ok)
        let refused = ICEServerTrial.Outcome.refused(code: 403, reason: "no\u{1B}[2J").finding(url)
        #expect(refused.found.hasSuffix("it refuses: 403 no [2J"))
    }
}
