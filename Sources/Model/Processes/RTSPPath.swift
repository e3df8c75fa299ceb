// SPDX-License-Identifier: Apache-2.0

import Basics

/// Paths of RTSP URLs: `/ROOM` for who speaks, `/ROOM/PARTICIPANT`.
public enum RTSPPath {
    /// Longest name of a participant in a path, in bytes before escaping; others have no path.
    public static let maximumName = 256

    /// The path of a room, and of one participant in it: one spelling for each name.
    public static func path(room: String, participant: String? = nil) -> String {
        ([room] + [participant].compactMap { $0 }).map { "/" + PercentCoding.encode($0, keeping: "=") }.joined()
    }
}
