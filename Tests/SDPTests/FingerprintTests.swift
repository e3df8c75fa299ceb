// SPDX-License-Identifier: Apache-2.0

import SDP
import Testing

@Suite struct FingerprintTests {
    private func fingerprint(_ algorithm: HashAlgorithm, _ byte: UInt8) throws -> Fingerprint {
        try #require(Fingerprint(algorithm: algorithm, digest: [UInt8](repeating: byte, count: algorithm.digestLength)))
    }

    private func digest(_ byte: UInt8) -> (HashAlgorithm) -> [UInt8]? {
        { [UInt8](repeating: byte, count: $0.digestLength) }
    }

    @Test func attributesAreReadWithoutCase() throws {
        let hex = [String](repeating: "0a", count: 32).joined(separator: ":")
        let read = try #require(Fingerprint(attribute: "SHA-256 \(hex)"))
        #expect(read == (try self.fingerprint(.sha256, 0x0A)))
        #expect(read.description == "sha-256 \(hex.uppercased())")
        for bad in [
            "sha-256", "sha-256 0A", "md5 \(hex)", "sha-256 \(hex):0A", "sha-256 \(hex.dropLast())G", "sha-1 \(hex)",
        ] {
            #expect(Fingerprint(attribute: bad) == nil)
        }
        #expect(Fingerprint(algorithm: .sha1, digest: [1]) == nil)
    }

    @Test func anyFingerprintOfTheStrongestHashMatches() throws {
        let set = FingerprintSet([
            try self.fingerprint(.sha256, 1), try self.fingerprint(.sha256, 2), try self.fingerprint(.sha1, 3),
        ])
        #expect(set.matches(digest: self.digest(1)))
        #expect(set.matches(digest: self.digest(2)))
        #expect(set.strongest?.algorithm == .sha256)
    }

    @Test func aWeakMatchDoesNotMakeUpForAStrongMismatch() throws {
        let set = FingerprintSet([try self.fingerprint(.sha1, 1), try self.fingerprint(.sha512, 2)])
        #expect(!set.matches(digest: self.digest(1)))
        #expect(set.matches(digest: self.digest(2)))
        // Unless the strong hash cannot be computed here.
        #expect(set.matches { $0 == .sha512 ? nil : self.digest(1)($0) })
    }

    @Test func sha1AloneIsBelievedAndNothingMatchesNothing() throws {
        #expect(FingerprintSet([try self.fingerprint(.sha1, 1)]).matches(digest: self.digest(1)))
        #expect(!FingerprintSet([]).matches(digest: self.digest(1)))
        #expect(!FingerprintSet([try self.fingerprint(.sha256, 1)]).matches { _ in nil })
    }

    @Test func mediaLevelOverridesSessionLevel() throws {
        let text = try Fixture.load("firefox-1-audio-video.offer").text
        let session = try SessionDescription(parsing: text)
        #expect(session.fingerprints(of: session.media[1]).fingerprints.count == 1)
        let own = try self.fingerprint(.sha384, 9)
        let both = try SessionDescription(parsing: text.replacing("a=mid:1", with: "a=fingerprint:\(own)\r\na=mid:1"))
        #expect(both.fingerprints(of: both.media[1]).fingerprints == [own])
        #expect(both.fingerprints(of: both.media[0]) == session.fingerprints(of: session.media[0]))
    }
}
