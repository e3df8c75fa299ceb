// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Cluster

/// The cluster with which this host shares rooms.
public struct ClusterConfiguration: Sendable, Hashable {
    /// A user of the etcd.
    public struct User: Sendable, Hashable {
        /// The user's name.
        public var name: String
        /// The password.
        public var password: Secret
    }

    /// The cluster's name.
    public var name: String
    /// This host's name; no other host of the cluster has it.
    public var host: String
    /// The client URLs of the etcd's members, in the order in which they are tried; one or more.
    public var members: [String]
    /// The user; `nil` if the etcd has none.
    public var user: User?
    /// Absolute path of certificates, PEM, that are trusted in addition to the system's.
    public var authority: String?
    /// Our certificate and its key; `nil` if the etcd asks for none.
    public var identity: TLSFiles?
    /// How many seconds our rooms stay ours after we were last heard, 3 to 60.
    public var leaseSeconds = 4
    /// The sum of the costs of rooms that this host takes.
    public var capacity: Int
    /// Labels, by which definitions of rooms choose hosts.
    public var labels: [String: String] = [:]
    /// The token by which hosts use the API of each other; `nil` where it asks for none.
    public var token: Secret?
    /// The address of this host's API for the other hosts: scheme, host and port.
    public var url: String
}

/// The keys of `cluster`.
enum ClusterKeys {
    static let section = "cluster"

    static let name = Key("name", .clusterName)
    static let host = Key("host", .clusterName)
    static let etcd = Key("etcd", .etcdURL)
    static let user = Key("user", .line(maximum: 256))
    static let password = Key("password", .password(maximum: 1024), isSecret: true)
    static let leaseTime = Key(
        "ttl",
        ValueType<Int>.seconds(
            Int(
                ClusterSettings.leaseRange.lowerBound.components.seconds
            )...Int(
                ClusterSettings.leaseRange.upperBound.components.seconds
            ),
            example: "4s"
        )
    )
    static let capacity = Key("capacity", .integer(HostRecord.capacities))
    static let labels = Key("labels", .label)
    static let token = Key("token", .secret(16...512), isSecret: true)
    static let url = Key("url", .hostURL)

    static let table = KeyTable(
        name.entry,
        host.entry,
        etcd.entry,
        user.entry,
        password.entry,
        KeyTable.Entry(name: "tls", shape: .mapping(TLS.table)),
        leaseTime.entry,
        capacity.entry,
        labels.entry,
        token.entry,
        url.entry
    )

    /// The keys of `cluster.tls`.
    enum TLS {
        static let authority = Key("ca", .absolutePath(example: "/etc/tapedeck/etcd-ca.pem"))

        static let table = KeyTable([authority.entry] + APIKeys.TLS.table.entries)
    }
}

extension ValueType where Value == String {
    /// A name of a cluster or host.
    fileprivate static let clusterName = ValueType(
        accepted: "1 to 64 of A-Z, a-z, 0-9, -, _ and ., beginning with a letter or digit"
    ) { text in
        RoomKeys.isName(text) ? text : nil
    }

    /// Where a member of an etcd takes requests.
    fileprivate static let etcdURL = ValueType(
        accepted: "the client URL of a member, such as https://etcd-1.example.org:2379"
    ) { text in
        WebURL(text).flatMap { $0.hasPath ? nil : $0.origin }
    }

    /// The address of a host's API.
    fileprivate static let hostURL = ValueType(
        accepted: "the address of this host's API for the others, such as http://192.0.2.1:8330"
    ) { text in
        WebURL(text).flatMap { $0.hasPath ? nil : $0.origin }
    }

    /// The value of a label.
    static let label = ValueType.line(maximum: 64)
}

extension MappingReader {
    /// Labels behind a key, by name; empty if there are none.
    func labels(_ key: Key<String>) -> [String: String] {
        var labels: [String: String] = [:]
        for (entry, path) in self.named(key.name) { labels[entry.key] = self.single(entry.value, key, path: path) }
        return labels
    }
}

extension ClusterConfiguration {
    /// Reads the section; nil, with problems, if something is wrong without which there is no cluster.
    ///
    /// - Parameters:
    ///   - maximumRooms: what `workers` says, the default of `capacity`.
    ///   - api: what `api` says; its address is the default of `url`.
    init?(_ reader: MappingReader, maximumRooms: Int?, api: APIConfiguration) {
        // All of it before any is judged: all problems at once.
        let name = reader.required(ClusterKeys.name)
        let host = reader.required(ClusterKeys.host)
        if !reader.has(ClusterKeys.etcd.name) {
            reader.add(ClusterKeys.etcd.name, "missing", accepted: "a list, each: \(ClusterKeys.etcd.type.accepted)")
        }
        let members = reader.values(ClusterKeys.etcd, count: 1...16) ?? []
        let user = Self.user(reader)
        let (authority, identity) = Self.files(reader, members)
        let leaseTime = reader.value(ClusterKeys.leaseTime)
        let capacity = reader.value(ClusterKeys.capacity) ?? maximumRooms
        if capacity == nil, !reader.has(ClusterKeys.capacity.name) {
            let accepted = "\(ClusterKeys.capacity.type.accepted), or workers.maximum_rooms"
            reader.add(ClusterKeys.capacity.name, "missing", accepted: accepted)
        }
        let labels = reader.labels(ClusterKeys.labels)
        let token = reader.value(ClusterKeys.token)
        let url = reader.value(ClusterKeys.url)
        if url == nil, !reader.has(ClusterKeys.url.name), ["0.0.0.0", "::"].contains(api.host) {
            let reason = "missing, and \(api.host) of api.listen is no address that other hosts reach"
            reader.add(ClusterKeys.url.name, reason, accepted: ClusterKeys.url.type.accepted)
        }
        guard let name, let host, !members.isEmpty, let capacity else { return nil }
        let own = "http\(api.tls == nil ? "" : "s")://\(IPAddress.bracketed(api.host)):\(api.port)"
        self.init(name: name, host: host, members: members, capacity: capacity, url: url ?? own)
        (self.user, self.authority, self.identity) = (user, authority, identity)
        self.leaseSeconds = leaseTime ?? self.leaseSeconds
        (self.labels, self.token) = (labels, token)
    }

    private static func user(_ reader: MappingReader) -> User? {
        let (user, password) = (ClusterKeys.user, ClusterKeys.password)
        guard reader.has(user.name) || reader.has(password.name) else { return nil }
        let name = reader.required(user)
        let secret = reader.required(password)
        guard let name, let secret else { return nil }
        return User(name: name, password: secret)
    }

    private static func files(_ reader: MappingReader, _ members: [String]) -> (authority: String?, TLSFiles?) {
        guard let tls = reader.mapping("tls", ClusterKeys.TLS.table) else { return (nil, nil) }
        if let plain = members.first(where: { $0.hasPrefix("http://") }) {
            reader.add("tls", "\(Excerpt.text(plain)) is not encrypted", accepted: "https URLs in cluster.etcd")
        }
        let keys = APIKeys.TLS.self
        let hasIdentity = tls.has(keys.certificate.name) || tls.has(keys.key.name)
        return (tls.value(ClusterKeys.TLS.authority), hasIdentity ? TLSFiles(reading: tls) : nil)
    }
}

extension DaemonConfiguration {
    /// What other hosts of the cluster cannot do with the API of this one, though they reach it; no reason not to run.
    ///
    /// - Parameter file: the file's name, for messages.
    public func problemsBetweenHosts(file: String) -> [ConfigurationProblem] {
        guard let cluster = self.cluster, cluster.token == nil, !self.api.tokens.isEmpty,
            let url = WebURL(cluster.url), !IPAddress.isLoopback(host: url.host)
        else { return [] }
        return [
            ConfigurationProblem(
                file: file,
                key: "\(ClusterKeys.section).\(ClusterKeys.token.name)",
                message: "missing: the API asks for a token, so that the other hosts are refused",
                accepted: "a token that all hosts of the cluster have"
            )
        ]
    }
}
