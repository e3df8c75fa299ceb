// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Model

/// A client that may use the HTTP API.
public struct APIToken: Sendable, Hashable {
    /// How the token is known.
    public enum Credential: Sendable, Hashable {
        /// The token itself.
        case plain(Secret)
        /// The SHA-256 digest of the token's UTF-8 bytes: 32 bytes.
        case sha256([UInt8])
    }

    /// The bearer's name, for the log; unique.
    public var name: String
    /// How the token is known.
    public var credential: Credential
    /// What it is good for; at least one.
    public var scopes: Set<Scope>
    /// Whether it is that of the cluster's hosts.
    public var isOfHosts = false

    /// A token with each part given.
    public init(name: String, credential: Credential, scopes: Set<Scope> = Set(Scope.allCases)) {
        self.name = name
        self.credential = credential
        self.scopes = scopes
    }
}

/// A certificate and its key, as PEM files.
public struct TLSFiles: Sendable, Hashable {
    /// Absolute path of the certificate chain, the server's own first.
    public var certificate: String
    /// Absolute path of the private key.
    public var key: String

    /// Two paths.
    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// The HTTP interface.
public struct APIConfiguration: Sendable, Hashable {
    /// Address or host name that is listened on; IPv6 without brackets.
    public var host = "127.0.0.1"
    /// TCP port; 0 lets the system choose.
    public var port = 8330
    /// Who may use it; empty only on loopback, where then every client may.
    public var tokens: [APIToken] = []
    /// Certificate and key; `nil` speaks plain HTTP.
    public var tls: TLSFiles?
    /// Origins whose pages may use the API from a browser (scheme, host, port); empty: none but its own.
    public var corsOrigins: [String] = []
    /// Requests a second that one client may make, 1 to 10 000.
    public var requestsPerSecond = 50
    /// Event streams that may be open at once, 1 to 10 000.
    public var maximumEventStreams = 100

    /// Every key at its default.
    public init() {}

    /// Whether only programs of this machine can reach it.
    public var isLoopback: Bool { IPAddress.isLoopback(host: self.host) }
}

/// The keys of `api`.
enum APIKeys {
    static let listen = Key("listen", .listen)
    static let token = Key("token", .secret(16...512), isSecret: true)
    static let corsOrigins = Key("cors_origins", .origin)
    static let requestsPerSecond = Key("requests_per_second", .integer(1...10_000))
    static let maximumEventStreams = Key("maximum_event_streams", .integer(1...10_000))

    static let table = KeyTable(
        listen.entry,
        token.entry,
        KeyTable.Entry(name: "tokens", shape: .list(Token.table)),
        KeyTable.Entry(name: "tls", shape: .mapping(TLS.table)),
        corsOrigins.entry,
        requestsPerSecond.entry,
        maximumEventStreams.entry
    )

    /// The keys of one of `api.tokens`.
    enum Token {
        static let name = Key("name", .line(maximum: 64))
        static let value = Key("value", .secret(16...512), isSecret: true)
        static let sha256 = Key("sha256", ValueType<[UInt8]>.sha256, isSecret: true)
        static let scopes = Key("scopes", ValueType<Scope>.choice)

        static let table = KeyTable(name.entry, value.entry, sha256.entry, scopes.entry)
    }

    /// The keys of `api.tls`.
    enum TLS {
        static let certificate = Key("certificate", .absolutePath(example: "/etc/tapedeck/certificate.pem"))
        static let key = Key("key", .absolutePath(example: "/etc/tapedeck/key.pem"))

        static let table = KeyTable(certificate.entry, key.entry)
    }
}

extension TLSFiles {
    /// Reads the `tls` of a section; nil if it has none, or a wrong one, which is a problem then.
    init?(_ section: MappingReader) {
        guard let reader = section.mapping("tls", APIKeys.TLS.table) else { return nil }
        self.init(reading: reader)
    }

    /// Reads both paths; nil, with problems, if one is missing or wrong.
    init?(reading reader: MappingReader) {
        // Both before either is judged: all problems at once.
        let certificate = reader.required(APIKeys.TLS.certificate)
        let key = reader.required(APIKeys.TLS.key)
        guard let certificate, let key else { return nil }
        self.init(certificate: certificate, key: key)
    }
}

extension ValueType where Value == [UInt8] {
    /// A SHA-256 digest.
    fileprivate static let sha256 = ValueType(
        accepted: "64 hexadecimal digits in quotes, as `printf %s TOKEN | sha256sum` prints"
    ) { text in
        text.utf8.count == 64 ? Hexadecimal.bytes(of: text) : nil
    }
}

extension APIConfiguration {
    /// Reads the section.
    init(_ reader: MappingReader) {
        self.init()
        if let listen = reader.value(APIKeys.listen) {
            self.host = listen.host
            self.port = listen.port ?? self.port
        }
        if let token = reader.value(APIKeys.token) {
            self.tokens.append(APIToken(name: "token", credential: .plain(token)))
        }
        for token in reader.list("tokens", APIKeys.Token.table, maximum: 64) ?? [] {
            guard let read = APIToken(token) else { continue }
            if self.tokens.contains(where: { $0.name == read.name }) {
                token.add(APIKeys.Token.name.name, "another token has this name")
            }
            self.tokens.append(read)
        }
        self.tls = TLSFiles(reader)
        self.corsOrigins = reader.values(APIKeys.corsOrigins, count: 0...32) ?? []
        self.requestsPerSecond = reader.value(APIKeys.requestsPerSecond) ?? self.requestsPerSecond
        self.maximumEventStreams = reader.value(APIKeys.maximumEventStreams) ?? self.maximumEventStreams
        let namesNoToken = !reader.has(APIKeys.token.name) && !reader.has("tokens")
        if !self.isLoopback, self.tokens.isEmpty, namesNoToken || reader.isEmptyList("tokens") {
            let accepted = "api.token or api.tokens, or a loopback address in api.listen"
            reader.add(
                APIKeys.listen.name,
                "a token is needed where others can reach the API",
                accepted: accepted
            )
        }
    }
}

extension APIToken {
    /// Reads one token; nil, with problems, if something is wrong.
    fileprivate init?(_ reader: MappingReader) {
        let keys = APIKeys.Token.self
        let name = reader.required(keys.name)
        let credential =
            reader.value(keys.value).map { Credential.plain($0) } ?? reader.value(keys.sha256).map { .sha256($0) }
        if reader.has(keys.value.name) == reader.has(keys.sha256.name) {
            let place = reader.has(keys.value.name) ? keys.sha256.name : keys.value.name
            reader.add(place, "either value or sha256 is needed, not both")
        }
        if !reader.has(keys.scopes.name) {
            reader.add(keys.scopes.name, "missing", accepted: keys.scopes.type.accepted)
        }
        guard let name, let credential, let scopes = reader.values(keys.scopes, count: 1...Scope.allCases.count),
            !scopes.isEmpty
        else { return nil }
        self.init(name: name, credential: credential, scopes: Set(scopes))
    }
}
