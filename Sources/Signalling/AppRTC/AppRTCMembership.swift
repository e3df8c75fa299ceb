// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Our names in a room: enough to leave it, also for a later process.
struct AppRTCMembership: Sendable, Hashable {
    /// The room's name.
    let room: String
    /// The name that the server gave us.
    let client: String
    /// The collider's HTTP base; nil if the server does not say so.
    let postURL: WebURL?

    init(room: String, client: String, postURL: WebURL?) {
        self.room = room
        self.client = client
        self.postURL = postURL
    }

    /// Reads `note`; nil if the text is no such note.
    init?(note: String) {
        guard let value = try? JSONValue(parsing: note), let room = value["room"]?.string,
            let client = value["client"]?.string, RoomURL.AppRTC.isIdentifier(room), RoomURL.AppRTC.isIdentifier(client)
        else { return nil }
        self.init(room: room, client: client, postURL: value["collider"]?.string.flatMap { WebURL(parsing: $0) })
    }

    /// The text that is kept beyond a crash.
    var note: String {
        var members: [String: JSONValue] = ["room": .string(self.room), "client": .string(self.client)]
        if let postURL = self.postURL { members["collider"] = .string(postURL.description) }
        return JSONValue.object(members).text
    }

    /// Our resource at the collider: POST sends a message of ours, DELETE removes us.
    var colliderURL: WebURL? {
        guard var url = self.postURL else { return nil }
        let path = url.target.prefix { $0 != "?" }
        url.target = path + (path.hasSuffix("/") ? "" : "/") + "\(self.room)/\(self.client)"
        return url
    }
}
