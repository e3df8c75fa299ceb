// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The URL that takes offers, in both directions of the protocol (RFC 9725 section 4.2).
public struct WHIPEndpoint: Hashable, Sendable, CustomStringConvertible {
    private static let maximumNameBytes = 256

    /// Where offers go; the query is the endpoint's own.
    public let url: WebURL
    /// The last part of the path, decoded; the host where there is none.
    public let name: String
    /// Whether the server's certificate is checked; false only by `?insecure`.
    public let verifiesCertificate: Bool

    /// Reads the parts of a room URL.
    ///
    /// - Throws: `SignallingError` with code `invalidURL`.
    init(_ parts: RoomURLParts, example: String) throws(SignallingError) {
        let own = parts.rawQuery.split(separator: "&").filter { item in
            item != "insecure" && !item.hasPrefix("insecure=")
        }
        if let insecure = parts.query.first(where: { $0.key == "insecure" }), insecure.value != nil {
            throw RoomURLParts.error(
                "query: insecure takes no value; leave it out to check the certificate",
                example: example + "?insecure"
            )
        }
        let path = parts.path.isEmpty ? "/" : parts.path
        let component = path.split(separator: "/").last ?? ""
        guard let decoded = PercentCoding.decode(component) else {
            throw RoomURLParts.error(
                "path: a wrong % sequence in \"\(RoomURLParts.excerpt(component))\"",
                example: example
            )
        }
        guard decoded.utf8.count <= Self.maximumNameBytes,
            decoded.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else {
            throw RoomURLParts.error(
                "path: its last part is longer than \(Self.maximumNameBytes) bytes or has a control character in it",
                example: example
            )
        }
        self.name = decoded.isEmpty ? parts.host : decoded
        self.url = WebURL(
            isSecure: parts.scheme.hasSuffix("https"),
            host: parts.host,
            port: parts.port,
            target: path + (own.isEmpty ? "" : "?" + own.joined(separator: "&"))
        )
        self.verifiesCertificate = !parts.query.contains { $0.key == "insecure" }
    }

    /// The URL with our own query; it parses back to an equal value behind a scheme's prefix.
    public var description: String {
        guard !self.verifiesCertificate else { return "\(self.url)" }
        return "\(self.url)\(self.url.target.contains("?") ? "&" : "?")insecure"
    }
}
