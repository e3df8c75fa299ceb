// SPDX-License-Identifier: Apache-2.0

/// The keys of `ice`.
enum ICEKeys {
    static let hostAddresses = Key("host_addresses", .address)
    static let portRange = Key("port_range", ValueType<ClosedRange<UInt16>>.portRange.or("any"))

    static let table = KeyTable(
        KeyTable.Entry(name: "servers", shape: .list(Server.table)),
        hostAddresses.entry,
        portRange.entry
    )

    /// The keys of one of `ice.servers`.
    enum Server {
        static let urls = Key("urls", .iceServerURL)
        static let username = Key("username", .line(maximum: 512))
        static let credential = Key("credential", .secret(1...1024), isSecret: true)

        static let table = KeyTable(urls.entry, username.entry, credential.entry)
    }
}

extension ICEConfiguration {
    /// Reads the section.
    init(_ reader: MappingReader) {
        self.init()
        self.servers = reader.list("servers", ICEKeys.Server.table, maximum: 16)?.compactMap(ICEServer.init) ?? []
        self.hostAddresses = reader.values(ICEKeys.hostAddresses, count: 0...32) ?? []
        self.portRange = reader.value(ICEKeys.portRange) ?? nil
    }
}

extension ICEServer {
    /// Reads one server; nil, with problems, if something is wrong.
    init?(_ reader: MappingReader) {
        if !reader.has(ICEKeys.Server.urls.name) { reader.add(ICEKeys.Server.urls.name, "missing") }
        guard let urls = reader.values(ICEKeys.Server.urls, count: 1...8), !urls.isEmpty else { return nil }
        self.init(
            urls: urls,
            username: reader.value(ICEKeys.Server.username),
            credential: reader.value(ICEKeys.Server.credential)
        )
        guard urls.contains(where: { $0.lowercased().hasPrefix("turn") }) else { return }
        for name in [ICEKeys.Server.username.name, ICEKeys.Server.credential.name] where !reader.has(name) {
            reader.add(name, "missing; a TURN server needs it")
        }
    }
}
