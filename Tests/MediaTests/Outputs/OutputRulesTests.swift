// SPDX-License-Identifier: Apache-2.0

internal import Basics
import GStreamer
import Matroska
import Testing

@testable import Media

@Suite struct OutputPlacesTests {
    @Test func placesAreGivenInOrderAndKept() {
        var places = OutputPlaces(count: 2)
        #expect(places.take(for: "a") == 0)
        #expect(places.take(for: "b") == 1)
        #expect(places.take(for: "a") == 0)
        #expect(places.take(for: "c") == nil)
        #expect(places.participants == ["a", "b"])
        places.leave("b")
        places.leave("nobody")
        #expect(places["b"] == nil)
        #expect(places.take(for: "c") == 1)
    }

    @Test func whoComesBackHasItsPlaceWhileOthersAreFree() {
        var places = OutputPlaces(count: 3)
        _ = places.take(for: "a")
        _ = places.take(for: "b")
        places.leave("a")
        // The third slot was never taken.
        #expect(places.take(for: "c") == 2)
        #expect(places.take(for: "a") == 0)
        for name in ["b", "c", "a"] { places.leave(name) }
        // A new participant gets the slot that was left first.
        #expect(places.take(for: "d") == 1)
        #expect(places.take(for: "e") == 2)
    }
}

@Suite struct OutputSourceChoiceTests {
    private static let second: Int64 = 1_000_000_000

    private static func candidate(_ id: UInt64, _ mid: String?, _ last: Int64?) -> OutputSourceChoice.Candidate {
        OutputSourceChoice.Candidate(id: id, mid: mid, lastPacketNanoseconds: last)
    }

    @Test func thePresentTrackStaysUntilItIsSilent() {
        let now = 100 * Self.second
        func choose(_ current: UInt64?, _ candidates: [OutputSourceChoice.Candidate]) -> UInt64? {
            OutputSourceChoice.choose(current: current, among: candidates, now: now)
        }
        let fresh = now - Self.second
        let old = now - 3 * Self.second
        #expect(choose(nil, []) == nil)
        #expect(choose(4, []) == nil)
        #expect(choose(nil, [Self.candidate(1, "0", nil)]) == 1)
        #expect(choose(nil, [Self.candidate(1, "0", fresh), Self.candidate(2, "1", nil)]) == 2)
        // Camera and screen.
        #expect(choose(1, [Self.candidate(1, "0", fresh), Self.candidate(2, "1", fresh)]) == 1)
        #expect(choose(1, [Self.candidate(1, "0", old), Self.candidate(2, "1", fresh)]) == 2)
        #expect(choose(1, [Self.candidate(1, "0", nil), Self.candidate(2, "1", fresh)]) == 2)
        #expect(choose(1, [Self.candidate(1, "0", old), Self.candidate(2, "1", old)]) == 1)
        // Another source on the same m-line is the same track.
        #expect(choose(1, [Self.candidate(1, "0", fresh), Self.candidate(2, "0", fresh)]) == 2)
        #expect(choose(2, [Self.candidate(1, "0", fresh), Self.candidate(2, "0", fresh)]) == 2)
        #expect(choose(1, [Self.candidate(1, nil, fresh), Self.candidate(2, nil, fresh)]) == 1)
    }
}

@Suite struct OutputHealthTests {
    @Test func aFailureIsToldOnceAndItsEndOnce() {
        var health = OutputHealth()
        #expect(health.examine(packets: 100, dropped: 0, error: nil) == nil)
        // A drop now and then is no failure.
        #expect(health.examine(packets: 100, dropped: 5, error: "x") == nil)
        #expect(health.examine(packets: 50, dropped: 50, error: "refused") == .failed(reason: "refused"))
        #expect(health.problem == "refused")
        #expect(health.examine(packets: 50, dropped: 50, error: "refused") == nil)
        #expect(health.examine(packets: 100, dropped: 0, error: "refused") == nil)
        #expect(health.examine(packets: 100, dropped: 0, error: "refused") == nil)
        #expect(health.examine(packets: 100, dropped: 0, error: "refused") == .recovered)
        #expect(health.problem == nil)
        #expect(health.examine(packets: 0, dropped: 1, error: nil) == .failed(reason: "packets are dropped"))
    }

    @Test func silenceIsNoRecovery() {
        var health = OutputHealth()
        #expect(health.examine(packets: 0, dropped: 3, error: "gone") == .failed(reason: "gone"))
        for _ in 0..<10 { #expect(health.examine(packets: 0, dropped: 0, error: nil) == nil) }
        #expect(health.problem == "gone")
    }

    @Test func setUpAndNamesCount() {
        var health = OutputHealth()
        health.noteLookUp(false)
        #expect(health.examine(packets: 0, dropped: 0, error: nil) == .failed(reason: "the host is not found"))
        health.noteLookUp(true)
        health.noteSetUp("no such folder")
        #expect(health.examine(packets: 10, dropped: 0, error: nil) == nil)
        #expect(health.problem == "no such folder")
        health.beginSetUp()
        let changes = (0..<4).map { _ in health.examine(packets: 10, dropped: 0, error: nil) }
        #expect(changes == [nil, nil, .recovered, nil])
    }
}

@Suite struct StreamWatchTests {
    private static func second(_ number: Int64) -> Int64 { number * 1_000_000_000 }

    @Test func packetsThatDoNotGetAwayForLongAreStuck() {
        var watch = StreamWatch()
        #expect(watch.isStuck(packets: 10, dropped: 0, isRefused: false, now: Self.second(0)) == false)
        for number in 1..<21 {
            let now = Self.second(Int64(number))
            #expect(watch.isStuck(packets: 10, dropped: UInt64(number), isRefused: false, now: now) == false)
        }
        // Nothing is tried.
        #expect(watch.isStuck(packets: 10, dropped: 20, isRefused: false, now: Self.second(21)) == false)
        #expect(watch.isStuck(packets: 10, dropped: 21, isRefused: false, now: Self.second(22)) == true)
        // One that gets away is enough.
        #expect(watch.isStuck(packets: 11, dropped: 22, isRefused: false, now: Self.second(23)) == false)
        #expect(watch.isStuck(packets: 11, dropped: 23, isRefused: false, now: Self.second(42)) == false)
    }

    @Test func whereNobodyListensPacketsGetAway() {
        var watch = StreamWatch()
        for number in 0..<60 {
            let now = Self.second(Int64(number))
            #expect(watch.isStuck(packets: 0, dropped: UInt64(number), isRefused: true, now: now) == false)
        }
    }
}

@Suite struct OutputDescriptionTests {
    private static func description(
        _ formats: [OutputFormat],
        address: String = "192.0.2.7",
        title: String = "standup Ada",
        key: [UInt8]? = nil,
        withKeys: Bool = true
    ) -> String {
        OutputDescription(
            sessionID: 12,
            version: 3,
            address: address,
            timeToLive: 4,
            title: title,
            canonicalName: "name",
            lines: formats.enumerated().map { index, format in
                OutputDescription.Line(
                    port: UInt16(5004 + 2 * index),
                    payloadType: format.codec.usualPayloadType,
                    format: format,
                    ssrc: UInt32(index + 1),
                    key: key
                )
            }
        ).text(withKeys: withKeys)
    }

    @Test func keysAreForThoseWhoReceive() {
        let format = OutputFormat(codec: .vp8, clockRateHz: 90_000, channels: 0)
        let key = (0..<30).map { UInt8($0) }
        let text = Self.description([format, format], key: key)
        #expect(text.contains("m=video 5004 RTP/SAVP 96\r\n"))
        let line = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd\r\n"
        #expect(text.ranges(of: line).count == 2)
        let shown = Self.description([format, format], key: key, withKeys: false)
        #expect(shown == text.replacing(line, with: ""))
    }

    @Test func picturesAndSound() {
        let text = Self.description([
            OutputFormat(codec: .h264, clockRateHz: 90_000, channels: 0, profileLevelID: "42e01f"),
            OutputFormat(codec: .opus, clockRateHz: 48_000, channels: 2),
        ])
        #expect(
            text
                == """
                v=0
                o=tapedeck 12 3 IN IP4 192.0.2.7
                s=standup Ada
                c=IN IP4 192.0.2.7
                t=0 0
                m=video 5004 RTP/AVP 102
                a=rtpmap:102 H264/90000
                a=fmtp:102 packetization-mode=1;profile-level-id=42e01f
                a=rtcp-fb:102 nack pli
                a=rtcp-fb:102 ccm fir
                a=ssrc:1 cname:name
                m=audio 5006 RTP/AVP 111
                a=rtpmap:111 opus/48000/2
                a=fmtp:111 useinbandfec=1
                a=ssrc:2 cname:name

                """.replacing("\n", with: "\r\n")
        )
        #expect(text.hasPrefix(OutputDescription.beginning))
    }

    /// A receiver may get them nowhere else (RFC 6184 section 8.1).
    @Test func parameterSetsOfTheSendersDescriptionAreRepeated() {
        let sets = H264ParameterSets(sequence: [[0x67, 0x42, 0xC0, 0x1F]], picture: [[0x68, 0xCB, 0x8C, 0xB2]])
        let format = OutputFormat(codec: .h264, clockRateHz: 90_000, channels: 0, parameterSets: sets)
        let line = "a=fmtp:102 packetization-mode=1;sprop-parameter-sets=Z0LAHw==,aMuMsg==\r\n"
        #expect(Self.description([format]).contains(line))
    }

    /// Those of the sender's description, and its profile, count more than those of its packets.
    @Test func parameterSetsOfPacketsAreStatedWhereNoneAreKnown() {
        let units: [[UInt8]] = [[0x67, 0x42, 0xC0, 0x1F], [0x68, 0xCB, 0x8C, 0xB2]]
        var format = OutputFormat(codec: .h264, clockRateHz: 90_000, channels: 0)
        #expect(format.lacksSets && format.stating(nil) == format)
        format.parameterSets = H264ParameterSets()
        #expect(format.lacksSets)
        let line = "a=fmtp:102 packetization-mode=1;profile-level-id=42c01f;sprop-parameter-sets=Z0LAHw==,aMuMsg==\r\n"
        #expect(Self.description([format.stating(units)]).contains(line))
        format.profileLevelID = "64001f"
        #expect(format.stating(units).profileLevelID == "64001f")
        format.parameterSets = H264ParameterSets(sequence: [[0x67, 1]], picture: [[0x68, 2]])
        #expect(format.stating(units) == format)
        let other = OutputFormat(codec: .vp8, clockRateHz: 90_000, channels: 0)
        #expect(!other.lacksSets && other.stating(units) == other)
    }

    @Test(arguments: [
        (MediaCodec.vp8, "VP8/90000", 90_000), (.vp9, "VP9/90000", 90_000), (.pcmu, "PCMU/8000", 8000),
        (.pcma, "PCMA/8000", 8000),
    ])
    func everyCodecHasItsName(_ codec: MediaCodec, _ map: String, _ rate: Int) {
        let format = OutputFormat(codec: codec, clockRateHz: rate, channels: 0)
        #expect(Self.description([format]).contains("a=rtpmap:\(format.codec.usualPayloadType) \(map)\r\n"))
    }

    @Test func groupsAndFamilies() {
        let format = OutputFormat(codec: .vp8, clockRateHz: 90_000, channels: 0)
        #expect(Self.description([format], address: "239.1.2.3").contains("c=IN IP4 239.1.2.3/4\r\n"))
        #expect(Self.description([format], address: "ff02::7").contains("c=IN IP6 ff02::7\r\n"))
        #expect(Self.description([format], address: "::1").contains("IN IP6 ::1\r\n"))
    }

    /// Names and profiles come from peers: they must not add lines.
    @Test func nothingOfAPeerAddsALine() {
        let format = OutputFormat(codec: .h264, clockRateHz: 90_000, channels: 0, profileLevelID: "42\r\na")
        let text = Self.description([format], title: "room\r\nm=audio 1 RTP/AVP 0\u{0}")
        #expect(text.contains("s=room  m=audio 1 RTP/AVP 0 \r\n"))
        #expect(text.split(separator: "\r\n").count { $0.hasPrefix("m=") } == 1)
        #expect(!text.contains("profile-level-id"))
        #expect(Self.description([format], title: "").contains("s=-\r\n"))
        #expect(Self.description([format], title: String(repeating: "x", count: 5000)).utf8.count < 1000)
    }
}

@Suite struct SpeakerChoiceTests {
    /// The participant shown after each second, given bytes of audio a second.
    private static func speakers(_ seconds: [[String: UInt64]]) -> [String?] {
        var choice = SpeakerChoice()
        var totals: [String: UInt64] = [:]
        return seconds.map { rates in
            totals = totals.filter { rates[$0.key] != nil }
            for (participant, rate) in rates { totals[participant, default: 1 << 40] += rate }
            choice.note(totals)
            return choice.speaker
        }
    }

    @Test func whoSendsMuchMoreSpeaksButNotAtOnce() {
        let quiet: [String: UInt64] = ["a": 1000, "b": 1000]
        let bob: [String: UInt64] = ["a": 1000, "b": 4000]
        #expect(Self.speakers([quiet, quiet]) == ["a", "a"])
        #expect(Self.speakers([quiet, quiet, bob, quiet, quiet]).last == "a")
        #expect(Self.speakers([quiet, quiet, bob, bob, bob]).last == "b")
        // A lead that is small is none.
        #expect(Self.speakers(Array(repeating: ["a": 3000, "b": 3300], count: 9)).last == "a")
    }

    @Test func whoLeavesDoesNotSpeak() {
        let both: [String: UInt64] = ["a": 4000, "b": 1000]
        #expect(Self.speakers([both, both, ["b": 1000]]) == ["a", "a", "b"])
        #expect(Self.speakers([both, [:], both]) == ["a", nil, "a"])
    }

    @Test func numbersMayBeAny() {
        var choice = SpeakerChoice()
        for total in [UInt64.max, 0, .max, .max / 2, .max] {
            choice.note(["a": total, "b": .max - total])
            #expect(choice.speaker != nil)
        }
    }
}
