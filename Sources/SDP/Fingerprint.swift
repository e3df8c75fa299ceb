// SPDX-License-Identifier: Apache-2.0

import Basics

/// A hash function that names certificates (RFC 8122 section 5), weakest first.
public enum HashAlgorithm: String, Sendable, Hashable, CaseIterable, Comparable {
    /// SHA-1: only believed when a description has nothing better.
    case sha1 = "sha-1"
    /// SHA-224.
    case sha224 = "sha-224"
    /// SHA-256.
    case sha256 = "sha-256"
    /// SHA-384.
    case sha384 = "sha-384"
    /// SHA-512.
    case sha512 = "sha-512"

    /// Bytes of a digest.
    public var digestLength: Int {
        switch self {
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// Orders by strength.
    public static func < (lhs: HashAlgorithm, rhs: HashAlgorithm) -> Bool { lhs.digestLength < rhs.digestLength }
}

/// The hash of a certificate, as `a=fingerprint` carries it.
public struct Fingerprint: Sendable, Hashable, CustomStringConvertible {
    /// The hash function.
    public let algorithm: HashAlgorithm
    /// The digest of the DER certificate.
    public let digest: [UInt8]

    /// A fingerprint; nil if the digest's length is not the algorithm's.
    public init?(algorithm: HashAlgorithm, digest: [UInt8]) {
        guard digest.count == algorithm.digestLength else { return nil }
        self.algorithm = algorithm
        self.digest = digest
    }

    /// Reads an attribute's value, for example `sha-256 4A:AD:…`; nil if malformed or of an unknown hash.
    public init?(attribute value: String) {
        let words = value.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, let algorithm = HashAlgorithm(rawValue: words[0].lowercased()) else { return nil }
        let pairs = words[1].split(separator: ":", omittingEmptySubsequences: false)
        guard pairs.count == algorithm.digestLength, pairs.allSatisfy({ $0.utf8.count == 2 }),
            let digest = Hexadecimal.bytes(of: pairs.joined())
        else { return nil }
        self.init(algorithm: algorithm, digest: digest)
    }

    /// The attribute's value, digits in upper case.
    public var description: String {
        let pairs = self.digest.map { Hexadecimal.text($0, uppercase: true) }
        return "\(self.algorithm.rawValue) \(pairs.joined(separator: ":"))"
    }
}

/// All fingerprints that a description gives for one transport.
public struct FingerprintSet: Sendable, Hashable {
    /// The fingerprints in the order of the text.
    public let fingerprints: [Fingerprint]

    /// A set of any size.
    public init(_ fingerprints: [Fingerprint]) {
        self.fingerprints = fingerprints
    }

    /// Whether there is nothing to compare with.
    public var isEmpty: Bool { self.fingerprints.isEmpty }

    /// The one to show to something that takes only one: of the strongest hash, the first.
    public var strongest: Fingerprint? {
        guard let algorithm = self.fingerprints.map(\.algorithm).max() else { return nil }
        return self.fingerprints.first { $0.algorithm == algorithm }
    }

    /// Whether a certificate is one of these.
    ///
    /// RFC 8122 section 5: of the hashes that both sides know, the strongest decides alone; within it any
    /// fingerprint may match. A weaker match never makes up for a stronger mismatch, so SHA-1 counts only when
    /// there is nothing better.
    /// - Parameter digest: the certificate's digest, or nil if the caller cannot compute that hash.
    public func matches(digest: (HashAlgorithm) -> [UInt8]?) -> Bool {
        for algorithm in Set(self.fingerprints.map(\.algorithm)).sorted(by: >) {
            guard let computed = digest(algorithm) else { continue }
            return self.fingerprints.contains { $0.algorithm == algorithm && $0.digest == computed }
        }
        return false
    }

    /// Whether both sets can name the same certificate: they share a fingerprint.
    func overlaps(_ other: FingerprintSet) -> Bool {
        !Set(self.fingerprints).isDisjoint(with: other.fingerprints)
    }
}
