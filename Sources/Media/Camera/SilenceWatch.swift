// SPDX-License-Identifier: Apache-2.0

/// Notices that the camera's own audio is silent, which people in front of a dead microphone do not hear themselves.
struct SilenceWatch: Sendable {
    /// What has changed.
    enum Finding: Sendable, Hashable {
        /// For as long as `patience` there has been nothing to be heard.
        case silent
        /// After that there is something again.
        case heard
    }

    /// A pause of speakers is shorter.
    static let patience = Duration.seconds(10)

    private var isSilent = false
    /// Whether it was silent once.
    private(set) var hasFound = false

    /// Takes how long the audio has been silent; nil while nothing follows from that: muted, or its source is away.
    mutating func look(_ silence: Duration?) -> Finding? {
        guard let silence, silence >= Self.patience else {
            guard self.isSilent, silence != nil else { return nil }
            self.isSilent = false
            return .heard
        }
        guard !self.isSilent else { return nil }
        self.isSilent = true
        self.hasFound = true
        return .silent
    }
}
