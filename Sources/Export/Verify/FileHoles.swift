// SPDX-License-Identifier: Apache-2.0

/// The places of a track's file that make no sense: up to the next keyframe, frames refer to some that were there.
struct FileHoles {
    private var count = 0
    private var isBehind = false

    /// Whether the next frame of video refers to some that were in one of them.
    ///
    /// - Parameter count: how many of them are before the frame.
    mutating func areBefore(isKeyframe: Bool, count: Int) -> Bool {
        if count > self.count { self.isBehind = true }
        self.count = count
        if isKeyframe { self.isBehind = false }
        return self.isBehind
    }
}
