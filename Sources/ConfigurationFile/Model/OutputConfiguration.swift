// SPDX-License-Identifier: Apache-2.0

/// One of the places where the tracks of a room go.
public enum OutputConfiguration: Sendable, Hashable {
    /// RTP packets, as they come.
    case rtp(RTPOutputConfiguration)
    /// What a pipeline file makes of one participant.
    case pipeline(PipelineOutputConfiguration)
}

/// A pipeline that one participant is sent to.
public struct PipelineOutputConfiguration: Sendable, Hashable {
    /// The name of a file of `output/`.
    public var file: String
    /// Values for the file's parameters, by name; addresses of servers may hold keys.
    public var parameters: [String: Secret] = [:]
    /// The only participant that is sent, by id or name; `nil`: whoever comes first.
    public var participant: String?

    /// A file without values.
    public init(file: String) {
        self.file = file
    }
}
