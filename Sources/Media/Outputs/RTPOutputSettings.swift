// SPDX-License-Identifier: Apache-2.0

public import Model

/// An output of a room, with the pipeline that its spec names looked up.
public struct RTPOutputSettings: Sendable, Hashable {
    /// Where the tracks go.
    public var spec: OutputSpec
    /// The pipeline that takes the packets in this process, with the spec's label as its name; ports are then of our
    /// choice.
    public var pipeline: PipelineOutputSettings?

    /// An output with each part given.
    public init(_ spec: OutputSpec, pipeline: PipelineOutputSettings? = nil) {
        self.spec = spec
        self.pipeline = pipeline
    }
}
