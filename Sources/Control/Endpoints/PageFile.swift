// SPDX-License-Identifier: Apache-2.0

internal import EmbeddedFiles
import HTTPTypes
import Hummingbird
internal import Model
import NIOCore
internal import Platform

/// A file of the dashboard, which is part of the program.
struct PageFile: Sendable, Hashable {
    /// Permissions of the page: only its own files and its own server, nothing inline.
    static let contentSecurityPolicy =
        "default-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; object-src 'none'; base-uri 'none'; "
        + "form-action 'self'; frame-ancestors 'none'"

    /// The kinds of events, for the page to listen to: `DaemonEvent.Kind`, as JavaScript.
    private static let kinds: String =
        "export const KINDS = [\(DaemonEvent.Kind.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))];\n"

    /// Every file by its path, with its media type.
    private static let files: [String: (type: String, bytes: [UInt8])] = Dictionary(
        uniqueKeysWithValues: (EmbeddedFile.dashboard.map { ($0.name, $0.bytes) } + [
            ("kinds.js", [UInt8](Self.kinds.utf8))
        ])
        .map { name, bytes in
            let type =
                switch name.split(separator: ".").last {
                case "css": "text/css; charset=utf-8"
                case "js": "text/javascript; charset=utf-8"
                case "svg": "image/svg+xml"
                default: "text/html; charset=utf-8"
                }
            return (name == "index.html" ? "" : name, (type, bytes))
        }
    )

    private static let entityTags: [String: String] = Self.files.mapValues { file in
        "\"\(SHA256Digest(of: file.bytes).hexadecimal.prefix(24))\""
    }

    private let path: String

    /// The file of a path without its first slash; `nil` if there is none.
    init?(path: String) {
        guard Self.files[path] != nil else { return nil }
        self.path = path
    }

    /// The answer to a request that has this entity tag already, or none, and that wants no other one.
    func reply(ifNoneMatch tags: String?, ifMatch wanted: String? = nil) -> Reply {
        guard let file = Self.files[self.path], let tag = Self.entityTags[self.path] else {
            return Problem(.notFound, "There is no such page.").reply
        }
        if let wanted, !isNamed(tag, by: wanted, isWeak: false) {
            return Problem(.preconditionFailed, "The page is not the one that the request is for.").reply
        }
        let isKnown = tags?.split(separator: ",").contains { $0.trimmingSpaces == tag } ?? false
        var reply =
            isKnown
            ? Reply(status: .notModified) : Reply(status: .ok, type: file.type, body: ByteBuffer(bytes: file.bytes))
        reply.headers[.eTag] = tag
        reply.headers[.cacheControl] = "no-cache"
        reply.headers[.contentSecurityPolicy] = Self.contentSecurityPolicy
        reply.headers[.referrerPolicy] = "no-referrer"
        return reply
    }
}
