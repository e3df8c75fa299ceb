// SPDX-License-Identifier: Apache-2.0

public import Basics

/// The identity of a cluster, written once by `tapedeck cluster init`.
public struct MetaRecord: ClusterRecord {
    /// The id, chosen at random: another id at the same address is another store.
    public let id: String
    /// The oldest schema that a host must know to claim anything.
    public let minimumSchema: Int
    /// Ids under which hosts may know this cluster: its store was replaced, and an operator said so.
    public let replaced: [String]

    /// The identity with this id.
    public init(id: String, minimumSchema: Int = RecordSchema.current, replaced: [String] = []) {
        (self.id, self.minimumSchema, self.replaced) = (id, minimumSchema, replaced)
    }

    /// Reads the members.
    public init(reading members: RecordMembers) throws(RecordProblem) {
        self.id = try members.string("id")
        self.minimumSchema = try members.optionalInteger("min_schema", in: 1...Int.max) ?? 1
        self.replaced = try members.strings("replaced")
    }

    /// The members.
    public var members: [String: JSONValue?] {
        [
            "id": .string(self.id), "min_schema": .integer(self.minimumSchema),
            "replaced": self.replaced.isEmpty ? nil : .array(self.replaced.map { .string($0) }),
        ]
    }
}

/// The definition of a room, as a configuration has it, and what the cluster reads of it.
public struct RoomRecord: ClusterRecord {
    /// What happens to a room while its host cannot reach the store.
    public enum CutOff: String, Sendable, Hashable, CaseIterable {
        /// The host stays in the room and records; camera and outputs stop.
        case record
        /// The host leaves the room, as in a room that takes one of us only.
        case leave
    }

    /// The definition: an object with the keys of the configuration.
    public let definition: JSONValue
    /// How much of a host's capacity the room takes: member `cost` of the definition, 1 if it is missing.
    public let cost: Int
    /// Labels that a host must have: member `hosts.require` of the definition.
    public let required: [String: String]
    /// Labels that a host should have: member `hosts.prefer` of the definition.
    public let preferred: [String: String]
    /// Member `when_cut_off` of the definition; nil leaves it to the kind of room.
    public let whenCutOff: CutOff?

    /// The range of `cost`.
    public static let costs = 1...1000

    /// Reads the members.
    public init(reading members: RecordMembers) throws(RecordProblem) {
        guard let room = try members.optionalObject("room"), let definition = members.value("room") else {
            throw RecordProblem("room: an object is missing")
        }
        self.definition = definition
        self.cost = try room.optionalInteger("cost", in: Self.costs) ?? 1
        let hosts = try room.optionalObject("hosts")
        self.required = try hosts?.labels("require") ?? [:]
        self.preferred = try hosts?.labels("prefer") ?? [:]
        self.whenCutOff = try room.optionalCase("when_cut_off", of: CutOff.self)
    }

    /// The members.
    public var members: [String: JSONValue?] { ["room": self.definition] }
}

/// The last request of an operator for a room: it outlives hosts.
public struct WishRecord: ClusterRecord {
    /// What is requested of the recording.
    public enum Order: String, Sendable, Hashable, CaseIterable {
        /// Record.
        case record
        /// Leave out what comes.
        case pause
        /// Record nothing.
        case stop
        /// Record nothing until a request, as a pause whose recording had to end.
        case hold
    }

    /// What is requested of the recording.
    public let order: Order
    /// The camera that is requested, as the HTTP API takes it; nil leaves it to the definition.
    public let send: JSONValue?
    /// When, as the host had it: UTC, RFC 3339.
    public let requested: String
    /// The client that asked, or its host.
    public let by: String

    /// A request with each part given.
    public init(order: Order, send: JSONValue? = nil, requested: String, by: String) {
        (self.order, self.send, self.requested, self.by) = (order, send, requested, by)
    }

    /// Reads the members.
    public init(reading members: RecordMembers) throws(RecordProblem) {
        self.order = try members.choice("ordered", of: Order.self)
        self.send = members.value("send")
        self.requested = try members.string("requested")
        self.by = try members.string("by")
    }

    /// The members.
    public var members: [String: JSONValue?] {
        [
            "ordered": .string(self.order.rawValue), "send": self.send, "requested": .string(self.requested),
            "by": .string(self.by),
        ]
    }
}

/// A living host.
public struct HostRecord: ClusterRecord {
    /// Where other hosts reach its HTTP API.
    public var url: String
    /// The version of Tapedeck.
    public var version: String
    /// Labels, for the constraints of rooms.
    public var labels: [String: String]
    /// The sum of costs that it takes.
    public var capacity: Int
    /// Whether it takes no more rooms and moves those that it has.
    public var isDraining: Bool
    /// Whether it ends in order.
    public var isStopping: Bool
    /// The boot of its kernel.
    public var boot: String
    /// The run of its daemon: another one with each start.
    public var life: String
    /// When that run began: UTC, RFC 3339.
    public var started: String?

    /// The range of `capacity`.
    public static let capacities = 0...100_000

    /// A host with each part given.
    public init(
        url: String,
        version: String,
        labels: [String: String] = [:],
        capacity: Int,
        isDraining: Bool = false,
        isStopping: Bool = false,
        boot: String,
        life: String,
        started: String? = nil
    ) {
        (self.url, self.version, self.labels, self.capacity) = (url, version, labels, capacity)
        (self.isDraining, self.isStopping, self.boot, self.life) = (isDraining, isStopping, boot, life)
        self.started = started
    }

    /// Reads the members.
    public init(reading members: RecordMembers) throws(RecordProblem) {
        self.url = try members.string("url")
        self.version = try members.string("version")
        self.labels = try members.labels("labels")
        self.capacity = try members.integer("capacity", in: Self.capacities)
        self.isDraining = try members.bool("draining")
        self.isStopping = try members.bool("stopping")
        self.boot = try members.string("boot")
        self.life = try members.string("life")
        self.started = try members.optionalString("started")
    }

    /// The members.
    public var members: [String: JSONValue?] {
        [
            "url": .string(self.url), "version": .string(self.version),
            "labels": .object(self.labels.mapValues { .string($0) }), "capacity": .integer(self.capacity),
            "draining": .bool(self.isDraining), "stopping": .bool(self.isStopping), "boot": .string(self.boot),
            "life": .string(self.life), "started": self.started.map { .string($0) },
        ]
    }
}

/// A room that is to move: the successor joins before the owner leaves.
public struct Handover: Sendable, Hashable {
    /// The host that is to have the room.
    public let to: String
    /// The epoch under which it records from its first frame, also before it owns the room: reserved for it.
    public let epoch: Int

    /// A move with each part given.
    public init(to: String, epoch: Int) { (self.to, self.epoch) = (to, epoch) }

    init?(reading members: RecordMembers) throws(RecordProblem) {
        guard let members = try members.optionalObject("handover") else { return nil }
        self.init(to: try members.string("to"), epoch: try members.integer("epoch", in: OwnerRecord.epochs))
    }

    var value: JSONValue { .object(["to": .string(self.to), "epoch": .integer(self.epoch)]) }
}

/// The owner of a room, as long as its lease lives.
public struct ClaimRecord: ClusterRecord {
    /// How far the owner is.
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// It tries to become a member of the room.
        case joining
        /// It is a member.
        case joined
    }

    /// The owner.
    public let host: String
    /// The number of its ownership: one more with each owner of the room.
    public let epoch: Int
    /// How far it is.
    public let phase: Phase
    /// The move in progress.
    public let handover: Handover?
    /// The cost of a room that only the owner's configuration defines; nil for a room of the cluster.
    public let localCost: Int?

    /// A claim with each part given.
    public init(host: String, epoch: Int, phase: Phase, handover: Handover? = nil, localCost: Int? = nil) {
        (self.host, self.epoch, self.phase, self.handover) = (host, epoch, phase, handover)
        self.localCost = localCost
    }

    /// Reads the members.
    public init(reading members: RecordMembers) throws(RecordProblem) {
        self.host = try members.string("host")
        self.epoch = try members.integer("epoch", in: OwnerRecord.epochs)
        self.phase = try members.choice("phase", of: Phase.self)
        self.handover = try Handover(reading: members)
        self.localCost = try members.optionalInteger("local_cost", in: RoomRecord.costs)
    }

    /// The members.
    public var members: [String: JSONValue?] {
        [
            "host": .string(self.host), "epoch": .integer(self.epoch), "phase": .string(self.phase.rawValue),
            "handover": self.handover?.value, "local_cost": self.localCost.map { .integer($0) },
        ]
    }
}

/// The recording of a room, as far as its last owner came.
public struct RecordingPointer: Sendable, Hashable {
    /// The id of the series: segments with the same one are one recording.
    public let series: String
    /// The number of the segment in the series, from 1.
    public let segment: Int
    /// The id of the segment.
    public let recording: String
    /// Whether it is in progress.
    public var isRecording: Bool
    /// Whether several owners of the room recorded the series: one host is to bring it together.
    public let isShared: Bool
    /// When the series began, as its first host had it: UTC, RFC 3339.
    public let began: String?

    /// A recording with each part given.
    public init(
        series: String,
        segment: Int,
        recording: String,
        isRecording: Bool,
        isShared: Bool = false,
        began: String? = nil
    ) {
        (self.series, self.segment, self.recording, self.isRecording) = (series, segment, recording, isRecording)
        (self.isShared, self.began) = (isShared, began)
    }

    /// The same recording, which has ended.
    public var ended: RecordingPointer {
        var ended = self
        ended.isRecording = false
        return ended
    }

    init?(reading members: RecordMembers) throws(RecordProblem) {
        guard let series = try members.optionalString("series") else { return nil }
        self.series = series
        self.segment = try members.integer("segment", in: 1...Int.max)
        self.recording = try members.string("recording")
        self.isRecording = try members.bool("recording_now")
        self.isShared = try members.bool("shared")
        self.began = try members.optionalString("began")
    }

    var members: [String: JSONValue?] {
        [
            "series": .string(self.series), "segment": .integer(self.segment), "recording": .string(self.recording),
            "recording_now": .bool(self.isRecording), "shared": self.isShared ? .bool(true) : nil,
            "began": self.began.map { .string($0) },
        ]
    }
}

/// The last owner of a room: the pointer that fences everything else.
public struct OwnerRecord: ClusterRecord {
    /// The number of the last ownership.
    public let epoch: Int
    /// The host that had it.
    public let host: String
    /// Its recording; nil if there was none.
    public let pointer: RecordingPointer?
    /// The host that should have the room next, and the epoch that is reserved for it.
    public let handover: Handover?
    /// The host with the right of first refusal, where it is not `host`: a room that was released for a move.
    public let next: String?

    /// The range of epochs.
    public static let epochs = 1...Int.max - 1

    /// An owner with each part given.
    public init(
        epoch: Int,
        host: String,
        pointer: RecordingPointer? = nil,
        handover: Handover? = nil,
        next: String? = nil
    ) {
        (self.epoch, self.host, self.pointer, self.handover, self.next) = (epoch, host, pointer, handover, next)
    }

    /// The highest epoch that is taken or reserved.
    public var highestEpoch: Int { max(self.epoch, self.handover?.epoch ?? 0) }

    /// Reads the members.
    public init(reading members: RecordMembers) throws(RecordProblem) {
        self.epoch = try members.integer("epoch", in: Self.epochs)
        self.host = try members.string("host")
        self.pointer = try RecordingPointer(reading: members)
        self.handover = try Handover(reading: members)
        self.next = try members.optionalString("next")
    }

    /// The members.
    public var members: [String: JSONValue?] {
        let own: [String: JSONValue?] = [
            "epoch": .integer(self.epoch), "host": .string(self.host), "handover": self.handover?.value,
            "next": self.next.map { .string($0) },
        ]
        return own.merging(self.pointer?.members ?? [:]) { own, _ in own }
    }
}

/// A series that several hosts recorded and that has ended: one host brings its recordings together and exports it.
public struct SeriesRecord: ClusterRecord {
    /// The room.
    public let room: String
    /// The host that brings it together, while it lives.
    public let host: String
    /// The epoch of a room's ownership by that host: no other host has it.
    public let epoch: Int
    /// The last recording of the series that is known.
    public let pointer: RecordingPointer

    /// A series with each part given.
    public init(room: String, host: String, epoch: Int, pointer: RecordingPointer) {
        (self.room, self.host, self.epoch, self.pointer) = (room, host, epoch, pointer.ended)
    }

    /// Reads the members.
    public init(reading members: RecordMembers) throws(RecordProblem) {
        self.room = try members.string("room")
        self.host = try members.string("host")
        self.epoch = try members.integer("epoch", in: OwnerRecord.epochs)
        guard let pointer = try RecordingPointer(reading: members) else {
            throw RecordProblem("series: a string is missing")
        }
        self.pointer = pointer.ended
    }

    /// The members.
    public var members: [String: JSONValue?] {
        let own: [String: JSONValue?] = [
            "room": .string(self.room), "host": .string(self.host), "epoch": .integer(self.epoch),
        ]
        return own.merging(self.pointer.members) { own, _ in own }
    }
}
