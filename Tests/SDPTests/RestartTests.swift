// SPDX-License-Identifier: Apache-2.0

import SDP
import Testing

/// Restarts of ICE, and candidates that hide where we are.
@Suite struct RestartTests {
    private func chromium(_ name: String) throws -> String { try Fixture.load("chromium-\(name).offer").text }

    private func credentials(_ text: String) throws -> [ICECredentials?] {
        let description = try SessionDescription(parsing: text)
        return description.media.map { description.iceCredentials(of: $0) }
    }

    @Test func ourNewCredentialsStandInAnswersFromARestartOn() throws {
        var state = try makeState()
        let bin = SimulatedWebRTCBin()
        _ = try state.exchange(self.chromium("1-audio-video"))
        #expect(!state.restartsICE)
        guard case .apply(let offer) = try state.offerReceived(self.chromium("6-restart-ice")) else {
            Issue.record("webrtcbin has to be told")
            return
        }
        #expect(state.restartsICE)
        let renewed = try #require(ICECredentials(ufrag: "aNew", password: "aNewPasswordOf22Letters"))
        let answer = try state.answerCreated(inner: bin.answer(offer), ice: renewed)
        #expect(!state.restartsICE)
        #expect(try self.credentials(answer.inner).allSatisfy { $0 == renewed })
        #expect(try self.credentials(answer.outer.text).allSatisfy { $0 == renewed })

        // webrtcbin keeps writing the first ones.
        let grown = try self.chromium("6-restart-ice").replacing("SAVPF 96 97 ", with: "SAVPF ")
        guard case .apply(let next) = try state.offerReceived(grown) else {
            Issue.record("webrtcbin has to be told")
            return
        }
        #expect(!state.restartsICE)
        let later = try state.answerCreated(inner: bin.answer(next))
        #expect(try self.credentials(later.inner).allSatisfy { $0 == renewed })
        #expect(try self.credentials(later.outer.text).allSatisfy { $0 == renewed })
    }

    @Test func theFirstOfferRestartsNothing() throws {
        var state = try makeState()
        _ = try state.offerReceived(self.chromium("1-audio-video"))
        #expect(!state.restartsICE)
    }

    private static let host = "candidate:1 1 UDP 2015363327 192.0.2.2 4000 typ host"
    private static let reflexive =
        "candidate:2 1 UDP 1677722111 198.51.100.9 4000 typ srflx raddr 192.0.2.2 rport 4000"
    private static let relayed =
        "candidate:3 1 UDP 505413887 203.0.113.7 50000 typ relay raddr 192.0.2.2 rport 4000"

    @Test func onlyRelayedCandidatesLeaveWithoutWhatIsBehindThem() throws {
        var policy = NegotiationPolicy()
        policy.sendsRelayedOnly = true
        var state = try makeState(policy)
        let answer = try state.exchange(self.chromium("1-audio-video"))
        let hidden = "candidate:3 1 UDP 505413887 203.0.113.7 50000 typ relay raddr 0.0.0.0 rport 0"
        let lines = [Self.host, Self.reflexive, Self.relayed]
        #expect(lines.map { state.outerCandidate(innerMLineIndex: 0, line: $0)?.line } == [nil, nil, hidden])
        let description = state.embedding(
            candidates: lines,
            isComplete: true,
            in: try SessionDescription(parsing: answer)
        )
        let text = description.text
        #expect(description.media.flatMap(\.candidates).map(\.description) == [hidden])
        #expect(!text.contains("192.0.2.2") && !text.contains("198.51.100.9"))
        let six = "candidate:4 1 UDP 5 2001:db8::7 50000 typ relay raddr 2001:db8::2 rport 4000"
        #expect(state.outerCandidate(innerMLineIndex: 0, line: six)?.line.hasSuffix("raddr :: rport 0") == true)
    }

    @Test func everyCandidateLeavesAsItIsOtherwise() throws {
        var state = try makeState()
        _ = try state.exchange(self.chromium("1-audio-video"))
        let lines = [Self.host, Self.reflexive, Self.relayed]
        #expect(lines.map { state.outerCandidate(innerMLineIndex: 0, line: $0)?.line } == lines)
    }
}
