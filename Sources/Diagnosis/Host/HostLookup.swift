// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Platform

/// Whether the name of a server can be turned into an address.
enum HostLookup {
    /// How long the resolver may take.
    private static let deadline = Duration.seconds(3)

    /// The result of a look-up.
    enum Outcome: Sendable, Hashable {
        /// Numeric addresses, in the resolver's order; never empty.
        case found(addresses: [String])
        case failed(String)
    }

    /// The finding for a server that `purpose` needs.
    static func finding(_ host: String, purpose: String, _ outcome: Outcome) -> Finding {
        switch outcome {
        case .found(let addresses):
            Finding(
                .network,
                purpose,
                .ok,
                "\(host) has \(addresses.count) \(addresses.count == 1 ? "address" : "addresses")"
            )
        case .failed(let reason):
            Finding(
                .network,
                purpose,
                .warning,
                "\(host): \(reason)",
                meaning: "it cannot be reached by this name",
                remedy: "check the name in the configuration, and /etc/resolv.conf"
            )
        }
    }

    /// Asks the system's resolver.
    static func look(up host: String) async -> Outcome {
        do {
            return try await ControlThread(name: "lookup").run("the look-up", deadline: Self.deadline) {
                Self.resolve(host)
            }
        } catch {
            return .failed("no answer within \(Self.deadline.components.seconds) s")
        }
    }

    private static func resolve(_ host: String) -> Outcome {
        do throws(NameResolutionError) {
            let addresses = try HostName.addresses(of: host)
            return addresses.isEmpty ? .failed("no address") : .found(addresses: addresses)
        } catch {
            return .failed(error.message)
        }
    }
}
