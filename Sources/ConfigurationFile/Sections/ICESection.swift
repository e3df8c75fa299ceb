// SPDX-License-Identifier: Apache-2.0

internal import Model

/// The keys of `ice`.
enum ICEKeys {
    static let hostAddresses = Key("host_addresses", .address)
    static let portRange = Key("port_range", ValueType<ClosedRange<UInt16>>.portRange.or("any"))

    static let policy = Key("policy", ValueType<Policy>.choice)
    static let usesOffered = Key("use_offered", .boolean)
    static let offeredHosts = Key("offered_hosts", .hostPattern)

    static let table = KeyTable(
        KeyTable.Entry(name: "servers", shape: .list(Server.table)),
        hostAddresses.entry,
        portRange.entry,
        policy.entry,
        usesOffered.entry,
        offeredHosts.entry
    )

    /// The ways that media may take.
    enum Policy: String, Sendable, Hashable, CaseIterable {
        /// Every one.
        case all
        /// Through TURN servers only: peers learn no address of this host.
        case relay
    }

    /// The keys of one of `ice.servers`.
    enum Server {
        static let urls = Key("urls", .iceServerURL)
        static let username = Key("username", .line(maximum: 512))
        static let credential = Key("credential", .secret(1...1024), isSecret: true)

        static let table = KeyTable(urls.entry, username.entry, credential.entry)
    }
}

extension NetworkSpec {
    /// Reads the section.
    init(_ reader: MappingReader) {
        self.init()
        self.servers = reader.list("servers", ICEKeys.Server.table, maximum: 16)?.compactMap { Server($0) } ?? []
        self.hostAddresses = reader.values(ICEKeys.hostAddresses, count: 0...32) ?? []
        self.relaysOnly = reader.value(ICEKeys.policy) == .relay
        self.usesOffered = reader.value(ICEKeys.usesOffered) ?? true
        self.offeredHosts = reader.values(ICEKeys.offeredHosts, count: 0...256) ?? []
        if self.lacksRelay {
            reader.add(ICEKeys.policy.name, "relay needs a TURN server in servers, or use_offered")
        }
        self.portRange = reader.value(ICEKeys.portRange) ?? nil
    }
}

extension NetworkSpec.Server {
    /// Reads one server; nil, with problems, if something is wrong.
    fileprivate init?(_ reader: MappingReader) {
        if !reader.has(ICEKeys.Server.urls.name) { reader.add(ICEKeys.Server.urls.name, "missing") }
        guard let urls = reader.values(ICEKeys.Server.urls, count: 1...8), !urls.isEmpty else { return nil }
        self.init(
            urls: urls,
            username: reader.value(ICEKeys.Server.username),
            credential: reader.value(ICEKeys.Server.credential)
        )
        guard self.relays else { return }
        for name in [ICEKeys.Server.username.name, ICEKeys.Server.credential.name] where !reader.has(name) {
            reader.add(name, "missing; a TURN server needs it")
        }
    }
}
