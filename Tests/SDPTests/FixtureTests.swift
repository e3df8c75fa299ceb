// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import SDP
import Testing

/// Every real description is driven through a simulated webrtcbin and checked against what must always hold.
@Suite struct FixtureTests {
    @Test func fixturesAreThere() {
        #expect(Fixture.offers.count >= 44)
        #expect(Fixture.answers.count >= 14)
    }

    @Test(arguments: Fixture.offers.filter { !$0.name.contains("sdes") })
    func offersAreAnswered(_ fixture: Fixture) throws {
        for policy in [
            NegotiationPolicy(),
            NegotiationPolicy(sentVideo: [.h264, .vp8], sentAudio: [.opus]).preferringVideo(.h264),
            NegotiationPolicy(
                receivedVideo: [],
                receivedAudio: [.opus, .pcmu],
                usesTransportCC: false,
                usesRTX: false
            ),
            NegotiationPolicy(honoursOfferOrder: true),
        ] {
            var state = try makeState(policy)
            let onOffer = try state.offerReceived(fixture.text)
            if case .decline(let outer, _) = onOffer {
                #expect(policy.receivedVideo.isEmpty || fixture.name.contains("data-only"))
                let answer = try SessionDescription(parsing: outer)
                #expect(try answer.media.count == SessionDescription(parsing: fixture.text).media.count)
                #expect(answer.media.allSatisfy { $0.port == 0 })
                #expect(state.isStable && state.negotiatedMedia.isEmpty)
                continue
            }
            guard case .apply(let innerOffer) = onOffer else {
                Issue.record("\(onOffer)")
                continue
            }
            try checkInnerOffer(innerOffer)
            let bin = SimulatedWebRTCBin(sends: !policy.sentVideo.isEmpty, nacks: policy.usesRTX)
            let answer = try state.answerCreated(inner: bin.answer(innerOffer))
            try checkInnerAnswer(answer.inner, state: state)
            try checkOuterAnswer(answer.outer.text, to: fixture.text, state: state)
            #expect(state.isStable)
            // The same offer again costs webrtcbin nothing, and the answer stays as it was.
            #expect(try state.offerReceived(fixture.text) == .reply(outer: answer.outer))
        }
    }

    /// One connection of each peer from its first offer to its last, in the order of the files' numbers.
    @Test(arguments: ["chromium", "firefox", "libwebrtc-plan-b", "janus-videoroom"])
    func wholeSessionsAreAnswered(_ peer: String) throws {
        let numbered = (1...9).map { "\(peer)-\($0)-" }
        let offers = numbered.compactMap { start in Fixture.offers.first { $0.name.hasPrefix(start) } }
        #expect(offers.count >= 4)
        for policy in [NegotiationPolicy(), NegotiationPolicy(sentVideo: [.vp8, .h264], sentAudio: [.opus])] {
            let bin = SimulatedWebRTCBin(sends: !policy.sentVideo.isEmpty)
            var state = try makeState(policy)
            for offer in offers {
                let outer: String
                switch try state.offerReceived(offer.text) {
                case .apply(let inner):
                    try self.checkInnerOffer(inner)
                    outer = try state.answerCreated(inner: bin.answer(inner)).outer.text
                case .reply(let answer):
                    outer = answer.text
                case .decline(_, let reason):
                    Issue.record("\(offer.name): \(reason)")
                    continue
                case .rebuild(let reason):
                    #expect(reason == .transportStopped && offer.name.hasSuffix("stopped-tag.offer"))
                    state = try makeState(policy)
                    outer = try state.exchange(offer.text, bin: bin)
                }
                try self.checkOuterAnswer(outer, to: offer.text, state: state)
            }
        }
    }

    private func checkInnerOffer(_ text: String) throws {
        let inner = try SessionDescription(parsing: text)
        #expect(!inner.media.isEmpty)
        let mids = inner.media.compactMap(\.mid)
        #expect(inner.bundleGroups == [mids])
        #expect(Set(mids).count == inner.media.count)
        for media in inner.media {
            #expect(media.kind != nil)
            #expect(media.port == 9)
            #expect(inner.direction(of: media) == .sendrecv)
            #expect(inner.iceCredentials(of: media) == inner.iceCredentials(of: inner.media[0]))
            #expect(inner.fingerprints(of: media).fingerprints.count == 1)
            #expect(inner.setup(of: media) != nil)
            #expect(media.hasRTCPMux)
            #expect(!media.hasSimulcast)
            #expect(media.headerExtensions.isEmpty)
            let formats = media.rtpFormats
            #expect(formats.filter { !$0.isRTX }.count == 1)
            #expect(formats.filter(\.isRTX).allSatisfy { $0.associatedPayloadType == formats[0].payloadType })
            #expect(formats[0].codec != nil)
            #expect(formats[0].parameters.isEmpty)
            #expect(media.candidates.allSatisfy { !$0.isTCP && !$0.hasName && $0.component == 1 })
        }
        #expect(!text.contains("sprop-"))
    }

    private func checkInnerAnswer(_ text: String, state: NegotiationState) throws {
        let inner = try SessionDescription(parsing: text)
        for media in state.negotiatedMedia {
            #expect(inner.media[media.innerIndex].headerExtensions.count == (media.codec.transportCCID == nil ? 0 : 1))
        }
    }

    private func checkOuterAnswer(_ text: String, to offerText: String, state: NegotiationState) throws {
        let offer = try SessionDescription(parsing: offerText)
        let outer = try SessionDescription(parsing: text)
        #expect(outer.media.map(\.media) == offer.media.map(\.media))
        #expect(outer.media.map(\.mid) == offer.media.map(\.mid))
        #expect(outer.media.map(\.protocolName) == offer.media.map(\.protocolName))
        let offered = Set(offer.bundleGroups.first ?? [])
        let bundled = outer.bundleGroups.first ?? []
        #expect(offered.isSuperset(of: bundled))
        #expect(outer.origin?.sessionID == "4242424242")
        let own = try #require(ownFingerprint)
        for (index, media) in outer.media.enumerated() {
            #expect(outer.fingerprints(of: media).fingerprints == [own])
            if media.port == 0 {
                #expect(media.mid.map(bundled.contains) != true)
                #expect(outer.direction(of: media) == .inactive)
                continue
            }
            #expect(media.mid == nil || bundled.contains(media.mid ?? ""))
            let theirs = offer.direction(of: offer.media[index])
            let ours = outer.direction(of: media)
            #expect(theirs.reversed.intersection(ours) == ours)
            #expect(media.rtpFormats.filter { !$0.isRTX }.count == 1)
            #expect(Set(offer.media[index].formats).isSuperset(of: media.formats))
            let offeredExtensions = offer.media[index].headerExtensions
            #expect(media.headerExtensions.allSatisfy { offeredExtensions[$0.key] == $0.value })
            #expect(outer.setup(of: media) != .actpass)
            #expect(outer.setup(of: media) != offer.setup(of: offer.media[index]))
            #expect(media.msid == nil || ours.sends)
            // One layer is asked for, and none of ours is offered.
            let layers = media.lines.map(\.value).filter { $0.hasPrefix("rid:") || $0.hasPrefix("simulcast:") }
            #expect(layers.count == (offer.media[index].hasSimulcast && ours.receives ? 2 : 0))
            #expect(layers.allSatisfy { $0.contains("recv") && !$0.contains("send") })
        }
        #expect(state.negotiatedMedia.map(\.outerIndex) == outer.media.indices.filter { outer.media[$0].port != 0 })
        #expect(!text.contains(SimulatedWebRTCBin.wrongFingerprint))
    }

    @Test(arguments: Fixture.answers)
    func answersToOurOffersAreTaken(_ fixture: Fixture) throws {
        for direction in [Direction.recvonly, .sendrecv] {
            let policy =
                direction == .recvonly
                ? NegotiationPolicy() : NegotiationPolicy(sentVideo: [.vp8, .h264], sentAudio: [.opus])
            var state = try makeState(policy)
            let offer = try state.offerCreated(inner: SimulatedWebRTCBin().offer(direction: direction))
            let inner = try SessionDescription(parsing: state.answerReceived(fixture.text))
            let innerOffer = try SessionDescription(parsing: offer.inner)
            #expect(inner.media.map(\.mid) == innerOffer.media.map(\.mid))
            #expect(inner.media.map(\.media) == innerOffer.media.map(\.media))
            for media in inner.media {
                #expect(media.port == 9)
                #expect(inner.direction(of: media) == direction.reversed)
                #expect([.active, .passive].contains(inner.setup(of: media)))
                #expect(inner.iceCredentials(of: media) == inner.iceCredentials(of: inner.media[0]))
            }
            #expect(!state.negotiatedMedia.isEmpty)
            for media in state.negotiatedMedia {
                let formats = inner.media[media.innerIndex].rtpFormats
                #expect(formats.first?.payloadType == media.codec.payloadType)
                let answered = try SessionDescription(parsing: fixture.text)
                #expect(
                    media.ourDirection.intersection(answered.direction(of: answered.media[media.outerIndex]).reversed)
                        == media.ourDirection
                )
            }
            #expect(state.isStable)
            #expect(!state.remoteFingerprints.isEmpty)
        }
    }

    @Test(arguments: Fixture.offers + Fixture.answers)
    func printingKeepsTheText(_ fixture: Fixture) throws {
        let once = try SessionDescription(parsing: fixture.text)
        let twice = try SessionDescription(parsing: once.text)
        #expect(once == twice)
        if !fixture.name.contains("munged") {
            #expect(once.text == fixture.text)
        }
    }
}
