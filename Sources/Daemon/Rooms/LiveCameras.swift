// SPDX-License-Identifier: Apache-2.0

import Model

/// What rooms send since somebody changed it over the interface.
///
/// It holds until the room's definition says something else, and for workers that come anew.
struct LiveCameras: Sendable {
    private struct Change {
        /// What the definition said then.
        var defined: SendSpec?
        var order: SendSpec?
        /// Also while nothing is sent.
        var mutes: CameraMutes
    }

    private var changes: [String: Change] = [:]

    /// Notes what a room sends from now on; `defined` is what its definition says.
    mutating func note(_ order: SendSpec?, of room: String, defined: SendSpec?) {
        let mutes = order?.mutes ?? self.changes[room]?.mutes ?? CameraMutes()
        self.changes[room] = Change(defined: defined, order: order, mutes: mutes)
    }

    /// What a room sends whose definition says `defined`.
    ///
    /// Another definition counts, but who was muted or frozen stays it, also if nothing is sent for a while: nobody is to be
    /// seen by a reload.
    mutating func order(of room: String, defined: SendSpec?) -> SendSpec? {
        guard let change = self.changes[room] else { return defined }
        guard change.defined != defined else { return change.order }
        var order = defined
        order?.mutes = change.mutes
        self.changes[room] = Change(defined: defined, order: order, mutes: change.mutes)
        return order
    }

    /// Forgets a room.
    mutating func remove(_ room: String) {
        self.changes[room] = nil
    }
}
