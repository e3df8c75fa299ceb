// SPDX-License-Identifier: Apache-2.0

/// How a worker process is, for the metrics.
public struct WorkerMeasurement: Sendable, Hashable {
    /// CPU seconds used since the process began, user and system.
    public var cpuSeconds: Double
    /// Resident memory in bytes.
    public var residentBytes: Int64
    /// Threads.
    public var threads: Int
    /// Open file descriptors.
    public var descriptors: Int
    /// Connections whose sockets are read in turn with those of others.
    public var sharedConnections = 0
    /// Connections that held up others with that, since the process began.
    public var slowConnections: UInt64 = 0
    /// Tracks whose packets take the whole way through webrtcbin, since the process began.
    public var longTracks: UInt64 = 0
    /// Packets of media that were not made with their connection's key, since the process began.
    public var forgedPackets: UInt64 = 0
    /// GStreamer objects alive; `nil` where they are not counted.
    public var objects: Int?
    /// Bytes allocated and not freed; `nil` where they are not counted.
    public var allocatedBytes: Int64?

    /// A measurement without the counts that must be requested.
    public init(cpuSeconds: Double, residentBytes: Int64, threads: Int, descriptors: Int) {
        self.cpuSeconds = cpuSeconds
        self.residentBytes = residentBytes
        self.threads = threads
        self.descriptors = descriptors
    }
}
