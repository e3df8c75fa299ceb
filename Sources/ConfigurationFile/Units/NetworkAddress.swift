// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// An IPv4 or IPv6 address in its text form.
struct NetworkAddress: Hashable {
    /// The two kinds of addresses.
    enum Family: Hashable {
        case ipv4, ipv6
    }

    let family: Family

    /// Reads an address without brackets, zone or port; `nil` for anything else.
    init?(_ text: String) {
        guard text.utf8.count <= 45, !text.utf8.contains(0) else { return nil }
        var bytes = in6_addr()
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.family = .ipv4
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.family = .ipv6
        } else {
            return nil
        }
    }
}
