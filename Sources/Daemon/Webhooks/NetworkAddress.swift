// SPDX-License-Identifier: Apache-2.0

import Basics
import NIOCore

/// Where an address leads: to the public Internet, to this host, or to some network that only insiders reach.
enum NetworkAddress: Sendable, Hashable {
    case isPublic
    case loopback
    case isPrivate

    /// Classifies an address to connect to.
    init(_ address: SocketAddress) {
        let address = IPAddress(address.ipAddress ?? "")
        switch address?.family {
        case .ipv4: self.init(version4: address?.bytes ?? [])
        case .ipv6: self.init(version6: address?.bytes ?? [])
        case nil: self = .isPrivate
        }
    }

    /// Everything in the IANA IPv4 special-purpose registry (RFC 6890), and multicast, is not public.
    init(version4 bytes: [UInt8]) {
        guard bytes.count == 4 else {
            self = .isPrivate
            return
        }
        self =
            switch (bytes[0], bytes[1], bytes[2]) {
            case (127, _, _): .loopback
            case (0, _, _), (10, _, _), (100, 64...127, _), (169, 254, _), (172, 16...31, _), (192, 0, 0), (192, 0, 2),
                (192, 88, 99), (192, 168, _), (198, 18...19, _), (198, 51, 100), (203, 0, 113), (224..., _, _):
                .isPrivate
            default: .isPublic
            }
    }

    /// Only 2000::/3 is public (RFC 4291), without what RFC 6890 takes out; forms that hold an IPv4 address are what that
    /// one is.
    init(version6 bytes: [UInt8]) {
        guard bytes.count == 16 else {
            self = .isPrivate
            return
        }
        let isMapped = bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        let isTranslated = bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
        if isMapped || isTranslated {
            self.init(version4: Array(bytes[12...]))
        } else if bytes == [UInt8](repeating: 0, count: 15) + [1] {
            self = .loopback
        } else if bytes.starts(with: [0x20, 0x02]) {
            // 6to4 goes to the IPv4 host inside (RFC 3056).
            self.init(version4: Array(bytes[2..<6]))
        } else {
            let isSpecial =
                bytes.starts(with: [0x20, 0x01, 0x0D, 0xB8]) || bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] < 2
                || bytes[0] == 0x3F && bytes[1] == 0xFF && bytes[2] < 0x10
            self = (0x20...0x3F).contains(bytes[0]) && !isSpecial ? .isPublic : .isPrivate
        }
    }
}
