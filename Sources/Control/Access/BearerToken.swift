// SPDX-License-Identifier: Apache-2.0

public import Model
internal import Platform

/// A bearer token (RFC 6750), of which only the hash is kept.
public struct BearerToken: Sendable, Hashable {
    /// The operator's name for it, for logs.
    public let name: String
    /// The allowed scopes.
    public let scopes: Set<Scope>
    /// Whether the other hosts of the cluster have it.
    public let isOfHosts: Bool
    let hash: TokenHash

    /// A token by its secret text, which is hashed at once and forgotten.
    public init(name: String, secret: String, scopes: Set<Scope> = Set(Scope.allCases), isOfHosts: Bool = false) {
        self.name = name
        self.scopes = scopes
        self.isOfHosts = isOfHosts
        self.hash = TokenHash(of: secret)
    }

    /// A token by the SHA-256 of its secret text, 32 bytes.
    public init(name: String, sha256: [UInt8], scopes: Set<Scope> = Set(Scope.allCases)) {
        self.name = name
        self.scopes = scopes
        self.isOfHosts = false
        self.hash = TokenHash(bytes: sha256)
    }
}

/// The SHA-256 hash of a secret.
///
/// Tokens are long random texts, so a plain hash cannot be searched. Comparing takes the same time wherever two hashes
/// differ.
struct TokenHash: Sendable, Hashable {
    private let bytes: [UInt8]

    init(of secret: String) {
        self.bytes = SHA256Digest(of: secret.utf8).bytes
    }

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Compares in constant time.
    static func == (left: TokenHash, right: TokenHash) -> Bool {
        guard left.bytes.count == right.bytes.count else { return false }
        return zip(left.bytes, right.bytes).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension Sequence<BearerToken> {
    /// The first token with this secret, if there is one; looks at every token, whichever fits.
    func matching(_ secret: String) -> BearerToken? {
        self.matching(TokenHash(of: secret))
    }

    /// The first token with this hash, if there is one.
    func matching(_ hash: TokenHash) -> BearerToken? {
        var found: BearerToken?
        for token in self where token.hash == hash { found = found ?? token }
        return found
    }
}
