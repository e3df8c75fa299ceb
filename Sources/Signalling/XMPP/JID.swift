// SPDX-License-Identifier: Apache-2.0

/// An address in XMPP: `name@domain/resource` (RFC 7622).
///
/// Name and domain are kept in lower case, as servers write them, so that equal addresses are equal values.
public struct JID: Sendable, Hashable, CustomStringConvertible {
    /// Longest of the three parts, in bytes.
    public static let maximumPartBytes = 1023

    /// `name@domain`, or the domain alone for a server.
    public let bare: String
    /// The client among those of one account; nil means the account.
    public let resource: String?

    /// Reads an address; nil if it is none.
    public init?(_ text: String) {
        let slash = text.firstIndex(of: "/") ?? text.endIndex
        let account = text[..<slash]
        if slash < text.endIndex {
            let resource = String(text[slash...].dropFirst())
            guard Self.isPart(resource) else { return nil }
            self.resource = resource
        } else {
            self.resource = nil
        }
        let mark = account.lastIndex(of: "@")
        let domain = String(mark.map { account[$0...].dropFirst() } ?? account)
        guard Self.isPart(domain), domain.unicodeScalars.allSatisfy({ !Self.excluded.contains($0) && $0 != " " }) else {
            return nil
        }
        if let mark {
            let name = String(account[..<mark])
            guard Self.isPart(name),
                name.unicodeScalars.allSatisfy({ !Self.excluded.contains($0) && $0 != ":" && $0 != " " })
            else { return nil }
        }
        self.bare = account.lowercased()
    }

    private init(bare: String, resource: String?) {
        self.bare = bare
        self.resource = resource
    }

    /// The account, whatever the client.
    public var account: JID { JID(bare: self.bare, resource: nil) }

    /// The account's domain.
    public var domain: String {
        self.bare.lastIndex(of: "@").map { String(self.bare[$0...].dropFirst()) } ?? self.bare
    }

    /// The same account with another resource.
    public func with(resource: String) -> JID { JID(bare: self.bare, resource: resource) }

    /// The whole address.
    public var description: String { self.resource.map { "\(self.bare)/\($0)" } ?? self.bare }

    /// Characters that neither a name nor a domain may have (RFC 7622 section 3.3.1); an IPv6 domain may have a colon.
    private static let excluded: Set<Unicode.Scalar> = ["\"", "&", "'", "/", "<", ">", "@"]

    private static func isPart(_ text: String) -> Bool {
        (1...Self.maximumPartBytes).contains(text.utf8.count)
            && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}
