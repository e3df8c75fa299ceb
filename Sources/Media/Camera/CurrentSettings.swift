// SPDX-License-Identifier: Apache-2.0

internal import Model

/// What a camera captures and codes, and what is muted while that changes.
///
/// Pure: a change may wait for a driver for any time, and mutes come meanwhile.
struct CurrentSettings: Sendable, Hashable {
    private(set) var settings: SendSpec
    /// What was muted since the last change began, which does not take that back.
    private var mutedMeanwhile = CameraMutes()

    init(_ settings: SendSpec) {
        self.settings = settings
    }

    /// Takes that a change begins, which may wait; what the settings are before it.
    mutating func beginChange() -> SendSpec {
        self.mutedMeanwhile = CameraMutes()
        return self.settings
    }

    /// Mutes and freezes more than the settings did.
    mutating func mute(_ mutes: CameraMutes) {
        self.settings.mutes.formUnion(mutes)
        self.mutedMeanwhile.formUnion(mutes)
    }

    /// Takes other settings, but for what was muted since the change began.
    mutating func change(to settings: SendSpec) {
        self.settings = settings
        self.settings.mutes.formUnion(self.mutedMeanwhile)
    }
}
