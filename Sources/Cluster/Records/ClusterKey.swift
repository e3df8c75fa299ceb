// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// A key of a cluster in the store.
///
///     /tapedeck/<cluster>/meta   rooms/<room>  wishes/<room>  claims/<room>  owners/<room>
///                         hosts/<host>  series/<id>  moves/<number>  said/<event>
///
/// Names are percent-encoded, as a room may be called anything.
public enum ClusterKey: Sendable, Hashable {
    /// The identity of the cluster: `MetaRecord`, without a lease.
    case meta
    /// The definition of a room: `RoomRecord`, without a lease.
    case room(String)
    /// The last request of an operator for a room: `WishRecord`, without a lease.
    case wish(String)
    /// A living host: `HostRecord`, under the lease of the host.
    case host(String)
    /// The present owner of a room: `ClaimRecord`, under the lease of the host.
    case claim(String)
    /// The last owner of a room and its recording: `OwnerRecord`, without a lease.
    case owner(String)
    /// A series that several hosts recorded and one brings together, by its id: `SeriesRecord`, without a lease.
    case series(String)
    /// A place in the budget of moves: exists for a minute after a move, under its own lease.
    case move(Int)
    /// An event of the cluster that a host has reported, by the event's id: exists for hours, under its own lease.
    case said(String)

    /// The beginning of every key of a cluster, with the slash.
    public static func prefix(cluster: String) -> String { "/tapedeck/\(PercentCoding.encode(cluster))/" }

    /// The key in the store.
    public func text(cluster: String) -> String { Self.prefix(cluster: cluster) + self.path }

    private var path: String {
        switch self {
        case .meta: "meta"
        case .room(let name): "rooms/" + PercentCoding.encode(name)
        case .wish(let name): "wishes/" + PercentCoding.encode(name)
        case .host(let name): "hosts/" + PercentCoding.encode(name)
        case .claim(let name): "claims/" + PercentCoding.encode(name)
        case .owner(let name): "owners/" + PercentCoding.encode(name)
        case .series(let id): "series/" + PercentCoding.encode(id)
        case .move(let number): "moves/\(number)"
        case .said(let id): "said/" + PercentCoding.encode(id)
        }
    }

    /// Reads a key; nil for one that no version of this schema writes.
    public init?(_ text: String, cluster: String) {
        let prefix = Self.prefix(cluster: cluster)
        guard text.hasPrefix(prefix) else { return nil }
        let parts = text.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        if parts == ["meta"] {
            self = .meta
            return
        }
        guard parts.count == 2, let name = PercentCoding.decode(parts[1]), !name.isEmpty else { return nil }
        switch parts[0] {
        case "rooms": self = .room(name)
        case "wishes": self = .wish(name)
        case "hosts": self = .host(name)
        case "claims": self = .claim(name)
        case "owners": self = .owner(name)
        case "series": self = .series(name)
        case "said": self = .said(name)
        case "moves":
            guard let number = Int(name) else { return nil }
            self = .move(number)
        default: return nil
        }
        // Two spellings of one name would be two keys.
        guard self.text(cluster: cluster) == text else { return nil }
    }
}
