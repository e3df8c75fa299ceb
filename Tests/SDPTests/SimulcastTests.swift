// SPDX-License-Identifier: Apache-2.0

import SDP
import Testing

/// The answer asks for the best layer of a camera, and for no other (RFC 8853, RFC 8851).
@Suite struct SimulcastTests {
    /// An offer of video whose layers are described so.
    private static func offer(_ lines: String, extension extmap: String = "10") -> String {
        """
        v=0
        o=- 1 1 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0
        m=video 9 UDP/TLS/RTP/SAVPF 96 97
        c=IN IP4 0.0.0.0
        a=mid:0
        a=ice-ufrag:abcd
        a=ice-pwd:0123456789012345678901
        a=fingerprint:sha-256 \([String](repeating: "EE", count: 32).joined(separator: ":"))
        a=setup:actpass
        a=sendonly
        a=rtcp-mux
        a=rtpmap:96 VP8/90000
        a=rtpmap:97 H264/90000
        a=fmtp:97 packetization-mode=1;profile-level-id=42e01f
        a=extmap:\(extmap) urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        \(lines)

        """.crlf
    }

    private static let usual = "a=rid:q send\na=rid:h send\na=rid:f send\n"

    private func answered(_ offer: String) throws -> (media: NegotiatedMedia, lines: [String]) {
        var state = try makeState()
        let answer = try SessionDescription(parsing: state.exchange(offer))
        let media = try #require(state.negotiatedMedia.first)
        let lines = answer.media[0].lines.map(\.value).filter {
            $0.hasPrefix("rid:") || $0.hasPrefix("simulcast:") || $0.contains("rtp-stream-id")
        }
        return (media, lines)
    }

    @Test(arguments: [
        // The usual order, whatever it is called.
        ("a=simulcast:send q;h;f", "f h q"), ("a=simulcast:send  q;h;f ", "f h q"), ("a=simulcast:send f;h;q", "f h q"),
        ("a=simulcast:send h;q", "h q"), ("a=simulcast: send rid=q;h;f", "f h q"),
        ("a=simulcast:recv x send q;h", "h q"),
        // Layers that the peer does not send at first go last.
        ("a=simulcast:send q;h;~f", "h q f"), ("a=simulcast:send ~q;~h;~f", "f h q"),
        // The first alternative, unless it is paused.
        ("a=simulcast:send q;h,f", "h q"), ("a=simulcast:send q;~h,f", "f q"), ("a=simulcast:send h,q", "h"),
        // A layer that no a=rid describes is none (RFC 8853 section 5.2).
        ("a=simulcast:send q;h;z", "h q"), ("a=simulcast:send q;q", "q"),
    ])
    func layersAreRanked(_ line: String, _ layers: String) throws {
        let (media, lines) = try self.answered(Self.offer(Self.usual + line))
        #expect(media.simulcast?.layers.joined(separator: " ") == layers)
        let best = layers.prefix { $0 != " " }
        #expect(
            lines == [
                "extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id", "rid:\(best) recv", "simulcast:recv \(best)",
            ]
        )
        #expect(media.simulcast?.extensionID == 10)
    }

    @Test(arguments: [
        (["a send", "b send", "c send"], "c b a"), (["0 send", "1 send"], "1 0"), (["hi send", "lo send"], "hi lo"),
        (["high send", "low send", "mid send"], "high mid low"), (["H send", "l send", "M send"], "H M l"),
        (["a send max-width=1280;max-height=720", "b send max-width=320;max-height=180"], "a b"),
        (["a send max-width=640;max-height=480", "b send max-width=640;max-height=360"], "a b"),
        (["a send", "b send max-width=320"], "a b"), (["a send max-br=1000000", "b send max-br=200000"], "a b"),
        (["a send max-fs=3600", "b send max-fs=920"], "a b"), (["a send MAX-FPS=30", "b send max-fps=15"], "a b"),
        (["a send max-width=99999999999999999999", "b send max-width=x"], "b a"), (["a send ;;=;x", "b send"], "b a"),
        (["a send pt=96", "b send pt=97", "c send pt=96,97"], "c a"),
    ])
    func restrictionsAndNamesDecide(_ rids: [String], _ layers: String) throws {
        let names = rids.compactMap { $0.split(separator: " ").first }.joined(separator: ";")
        let text = rids.map { "a=rid:\($0)\n" }.joined() + "a=simulcast:send \(names)"
        #expect(try self.answered(Self.offer(text)).media.simulcast?.layers.joined(separator: " ") == layers)
    }

    /// Restrictions that are not repeated count as refused (RFC 8851 section 6.3).
    @Test func theAnswerRepeatsWhatItTakes() throws {
        let rids = "a=rid:a send pt=97,96;max-width=1280;max-height=720\na=rid:b send max-width=320\n"
        let (_, lines) = try self.answered(Self.offer(rids + "a=simulcast:send b;a", extension: "9/sendonly"))
        #expect(
            lines == [
                "extmap:9/recvonly urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id",
                "rid:a recv pt=96;max-width=1280;max-height=720", "simulcast:recv a",
            ]
        )
        // An extension in which nothing would come is not asked for.
        let mute = try self.answered(Self.offer(Self.usual + "a=simulcast:send q;f", extension: "9/recvonly"))
        #expect(mute.lines == ["rid:f recv", "simulcast:recv f"])
        #expect(mute.media.simulcast?.extensionID == nil)
    }

    @Test(arguments: [
        "", usual, "a=simulcast:send q;h;f", "a=simulcast:send", usual + "a=simulcast:recv q;h",
        usual + "a=simulcast:send ;;,~",
        "a=rid:q recv\na=simulcast:send q", "a=rid:q\na=rid:\na=simulcast:send q", "a=ssrc-group:SIM 1",
        "a=ssrc-group:SIM 1 1",
    ])
    func whatIsNoSimulcastIsNotAnswered(_ lines: String) throws {
        let (media, answered) = try self.answered(Self.offer(lines))
        #expect(media.simulcast == nil)
        #expect(answered.isEmpty)
    }

    /// Before RFC 8853 libwebrtc named the sources; no answer can choose one, but they can be distinguished.
    @Test func groupsOfSourcesAreLayers() throws {
        let (media, lines) = try self.answered(Self.offer("a=ssrc-group:SIM 11 12 13"))
        #expect(media.simulcast?.layers == ["13", "12", "11"])
        #expect(media.simulcast?.layer(ofSource: 12) == "12")
        #expect(media.simulcast?.layer(ofSource: 14) == nil)
        #expect(lines.isEmpty)
    }

    @Test(arguments: [("chromium-simulcast", ["h", "l"]), ("firefox-simulcast", ["h", "m", "l"])])
    func browsersAreAskedForTheirBest(_ name: String, _ layers: [String]) throws {
        var state = try makeState()
        let text = try state.exchange(Fixture.load("\(name).offer").text)
        #expect(state.negotiatedMedia.compactMap(\.simulcast?.layers) == [layers])
        #expect(text.contains("a=rid:h recv\r\n") && text.contains("a=simulcast:recv h\r\n"))
        #expect(!text.contains("a=rid:l") && !text.contains("send "))
    }

    /// Nothing is asked for where nothing is received, and what changes in the next offer is followed.
    @Test func theAnswerGoesWithTheOffer() throws {
        var state = try makeState()
        let offer = Self.offer(Self.usual + "a=simulcast:send q;h;f")
        _ = try state.exchange(offer)
        let idle = try state.exchange(offer.replacing("a=sendonly", with: "a=inactive"))
        #expect(!idle.contains("rid:") && state.negotiatedMedia[0].simulcast == nil)
        let less = try state.exchange(offer.replacing("send q;h;f", with: "send q;h"))
        #expect(less.contains("a=simulcast:recv h\r\n"))
    }

    @Test func hostileListsAreBounded() throws {
        let names = (0..<2000).map { "r\($0)" }
        let lines = names.prefix(900).map { "a=rid:\($0) send \(String(repeating: "x=1;", count: 50))\n" }.joined()
        let media = try self.answered(Self.offer(lines + "a=simulcast:send \(names.joined(separator: ";"))")).media
        #expect((media.simulcast?.layers.count ?? 0) <= 16)
    }
}

/// One layer is recorded: the best that comes.
@Suite struct LayerChoiceTests {
    enum Step: Sendable {
        case came(String?, LayerChoice.Decision)
        case over([String], [LayerChoice.Decision])
    }

    @Test(
        arguments: [
            // A peer that keeps to our answer.
            ([.came("f", .take)], "f"),
            // One that sends all of them, in any order.
            ([.came("f", .take), .came("h", .refuse), .came("q", .refuse)], "f"),
            ([.came("q", .wait), .came("h", .wait), .came("f", .take), .over(["q", "h"], [.refuse, .refuse])], "f"),
            // One that does not send the best: the next, of all that came in time.
            ([.came("q", .wait), .over(["q"], [.take])], "q"),
            ([.came("q", .wait), .came("h", .wait), .over(["q", "h"], [.refuse, .take])], "h"),
            // A layer that comes later is recorded if it is better.
            (
                [.came("q", .wait), .over(["q"], [.take]), .came("h", .take), .came("q", .refuse), .came("f", .take)],
                "f"
            ),
            // The same layer from another source: its camera began again.
            ([.came("f", .take), .came("f", .take)], "f"),
            // Nothing is known of it.
            ([.came(nil, .take), .came("x", .take)], nil), ([.over([], []), .came("q", .take)], "q"),
        ] as [([Step], String?)]
    )
    func decides(_ steps: [Step], _ recorded: String?) {
        var choice = LayerChoice(layers: ["f", "h", "q"])
        for step in steps {
            switch step {
            case .came(let layer, let decision): #expect(choice.came(layer) == decision)
            case .over(let waiting, let decisions): #expect(choice.timeIsOver(waiting: waiting) == decisions)
            }
        }
        #expect(choice.recorded == recorded)
    }
}
