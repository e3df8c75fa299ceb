// SPDX-License-Identifier: Apache-2.0

internal import Model

/// The pitch of the test tone, which distinguishes one camera from another in a recording, by ear or by a program.
public enum TestTone {
    /// What cameras are called that were given no name; they all beep at `usualHertz`, as rooms of that kind do.
    public static let usualName = "Camera"
    /// The pitch without a name.
    public static let usualHertz = 1000
    /// The lowest pitch; no beep of a frame's length is mistaken for its neighbour at 20 Hz more.
    private static let lowest = 500
    private static let step = 20
    /// How many pitches there are besides `usualHertz`.
    private static let count: UInt32 = 149

    /// The pitch of a camera's name: 500 to 3480 Hz in steps of 20 Hz, always the same for a name.
    ///
    /// The name's UTF-8 bytes are hashed with FNV-1a of 32 bits; the remainder by 149 picks the pitch, 1000 Hz left out.
    public static func hertz(for name: String) -> Int {
        guard name != Self.usualName, name != RoomSpec.usualName else { return Self.usualHertz }
        let hash = name.utf8.reduce(2_166_136_261 as UInt32) { ($0 ^ UInt32($1)) &* 16_777_619 }
        let hertz = Self.lowest + Self.step * Int(hash % Self.count)
        return hertz < Self.usualHertz ? hertz : hertz + Self.step
    }
}
