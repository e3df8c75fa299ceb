// SPDX-License-Identifier: Apache-2.0

/// How many rooms of which kind a host records at a time, by what a few of them cost.
///
/// Cost is the difference between two loads, which is why the fixed cost of a worker does not count for each room. Some
/// of the host is left for exports, bursts and everything else that runs there.
public struct Capacity: Sendable, Hashable, Codable {
    /// Media that a participant sends.
    public struct Media: Sendable, Hashable, Codable {
        /// `720p30`.
        public var name: String
        /// Human-readable: codec and bit rate.
        public var details: String
        /// Bits a second, video and audio together.
        public var bitsPerSecond: Int

        /// Media with each part given.
        public init(name: String, details: String, bitsPerSecond: Int) {
            (self.name, self.details, self.bitsPerSecond) = (name, details, bitsPerSecond)
        }
    }

    /// Measured use of one worker.
    public struct Load: Sendable, Hashable {
        /// Rooms that were recorded, each with one sender.
        public var rooms: Int
        /// Share of one core, 1 for all of it.
        public var processorShare: Double
        /// Resident memory of the worker.
        public var residentBytes: Int64

        /// A load with each part given.
        public init(rooms: Int, processorShare: Double, residentBytes: Int64) {
            (self.rooms, self.processorShare, self.residentBytes) = (rooms, processorShare, residentBytes)
        }
    }

    /// Available resources.
    public struct Host: Sendable, Hashable, Codable {
        /// Cores.
        public var processors: Int
        /// Memory that is free or can be made free.
        public var memoryBytes: Int64
        /// The write rate of the storage, forced to the disk.
        public var storageBytesPerSecond: Int64

        /// A host with each part given.
        public init(processors: Int, memoryBytes: Int64, storageBytesPerSecond: Int64) {
            self.processors = processors
            self.memoryBytes = memoryBytes
            self.storageBytesPerSecond = storageBytesPerSecond
        }
    }

    /// Rooms of one kind, and what each of them takes.
    public struct Rooms: Sendable, Hashable, Codable {
        /// The media of each participant.
        public var media: Media
        /// Per cent of one core.
        public var processorPercent: Double
        /// Bytes of memory.
        public var memoryBytes: Int64
        /// Rooms that the processors allow.
        public var byProcessor: Int
        /// Rooms that the memory allows.
        public var byMemory: Int
        /// Rooms that the storage allows.
        public var byStorage: Int
        /// Rooms of this kind that can be recorded if there are no others.
        public var rooms: Int
    }

    /// The share of the cores that rooms may use.
    public static let processorShare = 0.7
    /// The share of the free memory that rooms may use.
    public static let memoryShare = 0.7
    /// The share of the storage's speed that rooms may use.
    public static let storageShare = 0.5
    /// The most that is said of anything.
    public static let maximum = 10_000

    /// The host.
    public var host: Host
    /// How many rooms share a worker.
    public var roomsPerWorker: Int
    /// One for each kind.
    public var kinds: [Rooms]

    /// The capacity from loads that rise: the first is one room, each next one has more rooms of one kind.
    ///
    /// - Parameters:
    ///   - first: one room of the first kind.
    ///   - steps: the loads after it, each with the media of the rooms that came on top; not empty.
    public init(host: Host, roomsPerWorker: Int, first: Load, steps: [(media: Media, load: Load)]) {
        self.host = host
        self.roomsPerWorker = roomsPerWorker
        self.kinds = []
        var before = first
        // The fixed use of a worker; each room has its part of it.
        var own = (processor: 0.0, memory: Int64(0))
        for (media, load) in steps {
            let more = max(1, load.rooms - before.rooms)
            // A clock tick, and a page for each of a handful of threads, are the least that can be seen.
            let processor = max(0.0005, (load.processorShare - before.processorShare) / Double(more))
            let memory = max(65_536, (load.residentBytes - before.residentBytes) / Int64(more))
            if self.kinds.isEmpty {
                own.processor = max(0, first.processorShare - processor)
                own.memory = max(0, first.residentBytes - memory)
            }
            let shared = max(1, roomsPerWorker)
            self.kinds.append(
                Self.rooms(
                    media,
                    processor: processor + own.processor / Double(shared),
                    memory: memory + own.memory / Int64(shared),
                    host
                )
            )
            before = load
        }
    }

    private static func rooms(_ media: Media, processor: Double, memory: Int64, _ host: Host) -> Rooms {
        func bounded(_ rooms: Double) -> Int { Int(min(max(0, rooms), Double(Self.maximum))) }
        let byProcessor = bounded(Double(host.processors) * Self.processorShare / processor)
        let byMemory = bounded(Double(host.memoryBytes) * Self.memoryShare / Double(memory))
        let bytesPerSecond = max(1, Double(media.bitsPerSecond) / 8)
        let byStorage = bounded(Double(host.storageBytesPerSecond) * Self.storageShare / bytesPerSecond)
        return Rooms(
            media: media,
            processorPercent: (processor * 10_000).rounded() / 100,
            memoryBytes: memory,
            byProcessor: byProcessor,
            byMemory: byMemory,
            byStorage: byStorage,
            rooms: min(byProcessor, byMemory, byStorage)
        )
    }

    /// The report for a person, as rows of cells.
    public var table: [[String]] {
        [["rooms of", "", "at a time", "each takes", "", "processors allow", "memory", "storage"]]
            + self.kinds.map { kind in
                [
                    kind.media.name, kind.media.details, "\(kind.rooms)", "\(kind.processorPercent) % of a core",
                    amount(UInt64(clamping: kind.memoryBytes)), "\(kind.byProcessor)", "\(kind.byMemory)",
                    "\(kind.byStorage)",
                ]
            }
    }

    /// The basis of the report, and how to use it.
    public var remarks: [String] {
        let host = self.host
        let memory = amount(UInt64(clamping: host.memoryBytes))
        let storage = amount(UInt64(clamping: host.storageBytesPerSecond))
        let workers = self.roomsPerWorker == 1 ? "a worker for each room" : "\(self.roomsPerWorker) rooms in a worker"
        let share = Int(Self.processorShare * 100)
        let cores = "\(host.processors) \(host.processors == 1 ? "core" : "cores")"
        var lines = ["\(cores), \(memory) of memory free, storage that takes \(storage) a second; \(workers)."]
        lines.append("\(share) % of cores and memory count, \(Int(Self.storageShare * 100)) % of the storage's speed.")
        if let first = self.kinds.first {
            lines.append("To keep to it: workers.maximum_rooms: \(max(1, first.rooms)) in the configuration.")
        }
        return lines
    }
}
