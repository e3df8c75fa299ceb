// SPDX-License-Identifier: Apache-2.0

import Crypto
import HTTPTypes
import Hummingbird
import NIOCore

/// A file of the dashboard, which is part of the program.
struct PageFile: Sendable, Hashable {
    /// What the page may do: only its own files and its own server, nothing inline.
    static let contentSecurityPolicy =
        "default-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; object-src 'none'; base-uri 'none'; "
        + "form-action 'self'; frame-ancestors 'none'"

    private static let page = "text/html; charset=utf-8"
    private static let style = "text/css; charset=utf-8"
    private static let script = "text/javascript; charset=utf-8"

    /// Every file: its path, its media type, its content.
    private static let files: [String: (type: String, bytes: [UInt8])] = [
        "": (Self.page, PackageResources.index_html),
        "icon.svg": ("image/svg+xml", PackageResources.icon_svg),
        "api.js": (Self.script, PackageResources.api_js),
        "base.css": (Self.style, PackageResources.base_css),
        "controls.css": (Self.style, PackageResources.controls_css),
        "dialogs.js": (Self.script, PackageResources.dialogs_js),
        "dom.js": (Self.script, PackageResources.dom_js),
        "exports.js": (Self.script, PackageResources.exports_js),
        "feed.js": (Self.script, PackageResources.feed_js),
        "format.js": (Self.script, PackageResources.format_js),
        "main.js": (Self.script, PackageResources.main_js),
        "messages.js": (Self.script, PackageResources.messages_js),
        "overview.js": (Self.script, PackageResources.overview_js),
        "player.js": (Self.script, PackageResources.player_js),
        "rates.js": (Self.script, PackageResources.rates_js),
        "recording.js": (Self.script, PackageResources.recording_js),
        "recordings.css": (Self.style, PackageResources.recordings_css),
        "recordings.js": (Self.script, PackageResources.recordings_js),
        "room-card.js": (Self.script, PackageResources.room_card_js),
        "room-form.js": (Self.script, PackageResources.room_form_js),
        "rooms.css": (Self.style, PackageResources.rooms_css),
        "rooms.js": (Self.script, PackageResources.rooms_js),
        "session.js": (Self.script, PackageResources.session_js),
        "sparkline.js": (Self.script, PackageResources.sparkline_js),
        "theme.js": (Self.script, PackageResources.theme_js),
        "thumbnails.js": (Self.script, PackageResources.thumbnails_js),
    ]

    private static let entityTags: [String: String] = Self.files.mapValues { file in
        "\"" + SHA256.hash(data: file.bytes).prefix(12).map { String($0, radix: 16) }.joined() + "\""
    }

    private let path: String

    /// The file of a path without its first slash; `nil` if there is none.
    init?(path: String) {
        guard Self.files[path] != nil else { return nil }
        self.path = path
    }

    /// The answer to a request that has this entity tag already, or none.
    func reply(ifNoneMatch tags: String?) -> Reply {
        guard let file = Self.files[self.path], let tag = Self.entityTags[self.path] else {
            return Problem(.notFound, "There is no such page.").reply
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
