// SPDX-License-Identifier: Apache-2.0

import Basics
import FoundationEssentials
import Testing
import Timeline

@Suite struct CertificateTests {
    private static let sample: Certificate = {
        var certificate = Certificate(recording: "0123456789abcdef", room: "Stand\u{1B}[2Jup", start: nil)
        certificate.durationNanoseconds = 61_234_567_890
        certificate.wallClockNanoseconds = 62_000_000_000
        var track = Certificate.Track(
            number: 1,
            file: "tracks/001-a-video.mkv",
            participant: "a",
            name: "Alice\nBob",
            codec: .vp8
        )
        track.units = 1800
        track.skewPartsPerMillion = -12.34
        track.gaps.note(.init(startNanoseconds: 5_000_000_000, durationNanoseconds: 1_500_000_000))
        certificate.tracks = [track]
        certificate.files = [.init(name: track.file, bytes: 9, sha256: String(repeating: "a", count: 64))]
        return certificate
    }()

    @Test func theWorstFindingIsTheVerdict() {
        var certificate = Self.sample
        #expect(certificate.verdict == .complete)
        certificate.note(.init(.note, .noManifest, "n"))
        #expect(certificate.verdict == .complete)
        certificate.note(.init(.gap, .gap, "g"))
        #expect(certificate.verdict == .completeWithGaps)
        certificate.note(.init(.damage, .fileTorn, "d"))
        certificate.note(.init(.gap, .gap, "g"))
        #expect(certificate.verdict == .damaged)
        #expect(certificate.findings(.gap).count == 2)
    }

    @Test func countsWhatItDoesNotList() {
        var certificate = Self.sample
        for _ in 0..<(Certificate.maximumFindings + 10) { certificate.note(.init(.note, .gap, "n")) }
        certificate.note(.init(.damage, .fileTorn, "d"))
        #expect(certificate.findings.count == Certificate.maximumFindings)
        // Files that are not as they were are known by it.
        #expect(certificate.findings(.damage).map(\.text) == ["d"])
        #expect(certificate.verdict == .damaged)
        var spans = Certificate.Spans()
        for length in 0..<200 as Range<Int64> { spans.note(.init(startNanoseconds: 0, durationNanoseconds: length)) }
        #expect(spans.count == 200 && spans.first.count == 100 && spans.longestNanoseconds == 199)
    }

    @Test func theTextIsForPeopleAndSteersNoTerminal() {
        var certificate = Self.sample
        certificate.note(
            .init(.damage, .fileTorn, file: "tracks/\u{1B}]0;x\u{7}.mkv", "it is torn\r\nverdict: complete")
        )
        let text = certificate.text
        #expect(text.hasPrefix("verdict:    damaged\n"))
        #expect(text.contains("duration:   61.234 s, 62.000 s by the wall clock"))
        #expect(text.contains("1 (1.500 s)") && text.contains("-12.3 ppm"))
        #expect(text.contains(String(repeating: "a", count: 64) + "  tracks/001-a-video.mkv"))
        #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
        #expect(text.split(separator: "\n").filter { $0.hasPrefix("verdict:") }.count == 1)
    }

    @Test func theTextListsHashesThatAreReadAgain() {
        var certificate = Self.sample
        let hash = String(repeating: "b", count: 64)
        certificate.files.append(.init(name: "a  b\nSHA-256:\n\(hash)  x", bytes: 1, sha256: hash))
        certificate.note(.init(.note, .gap, "a\n\nSHA-256:\n\(hash)  y"))
        let read = Certificate.hashes(inText: certificate.text)
        #expect(read.map(\.file) == ["tracks/001-a-video.mkv", "a  b?SHA-256:?\(hash)  x"])
        #expect(read.map(\.sha256) == [String(repeating: "a", count: 64), hash])
        let torn = ["", "\n", "SHA-256:", "SHA-256:\n\(hash)", "SHA-256:\n\(hash) x", "\(hash)  x\n", "SHA-256:\nä  x"]
        for text in torn {
            #expect(Certificate.hashes(inText: text).isEmpty)
        }
        #expect(Certificate.hashes(inText: "SHA-256:\n\(hash)  \n").map(\.file) == [""])
    }

    @Test func returnsFromJSONAndLeavesOutWhatNobodyLookedAt() throws {
        var certificate = Self.sample
        certificate.note(.init(.gap, .gap, file: "tracks/001-a-video.mkv", "nothing came"))
        let data = try JSONEncoder().encode(certificate)
        #expect(try JSONDecoder().decode(Certificate.self, from: data) == certificate)
        let text = String(decoding: data, as: UTF8.self)
        for key in ["decoding", "freezes", "black", "silences", "packets_lost", "packets_repaired", "decoder"] {
            #expect(!text.contains("\"\(key)\""), "\(key) is absent, not zero")
        }
        #expect(text.contains(#""verdict":"complete-with-gaps""#))
    }

    @Test func readsVerdictsOfOlderVersions() throws {
        func verdict(_ word: String) throws -> Certificate.Verdict {
            try JSONDecoder().decode([Certificate.Verdict].self, from: Data(#"["\#(word)"]"#.utf8))[0]
        }
        #expect(try verdict("incomplete") == .damaged)
        #expect(try verdict("complete-with-gaps") == .completeWithGaps)
        #expect(Certificate.Verdict(stored: "incomplete") == .damaged && Certificate.Verdict(stored: "x") == nil)
        #expect(throws: DecodingError.self) { try verdict("fine") }
    }

    @Test func peopleAreShownByTheNamesOfTheirTracks() {
        var certificate = Self.sample
        certificate.alignments = ["a", "b\u{1b}"].map {
            .init(participant: $0, pictureCorrectionNanoseconds: 1_000_000, basis: .arrival)
        }
        #expect(certificate.text.contains("  Alice?Bob: moved by 1.0 ms, by arrivals"))
        #expect(certificate.text.contains("  b?: moved by 1.0 ms, by arrivals"), "it has no track")
    }

    @Test func survivesExtremeNumbers() {
        var certificate = Self.sample
        certificate.durationNanoseconds = .min
        certificate.wallClockNanoseconds = .max
        certificate.tracks[0].startNanoseconds = .min
        certificate.tracks[0].skewPartsPerMillion = .nan
        certificate.tracks[0].packetsLost = .min
        certificate.alignments = [.init(participant: "a", pictureCorrectionNanoseconds: .min, basis: .arrival)]
        #expect(!certificate.text.isEmpty)
    }
}
