// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Storage
internal import Timeline

/// A peer connection, as far as its packets are counted.
struct OpenConnection {
    let participant: String
    let sources: @Sendable () -> [SourceCounts]
    /// Media that our answer refused.
    var refused: [MediaRefused] = []
    /// Kinds that its peer may send, and since when; nil once media can come.
    var awaited: (kinds: Set<MediaKind>, since: Int64)?
    /// Whether media can come, or could.
    var isUp = false
    /// Kinds that its peer said it sends; nil before it said anything.
    var agreed: Set<MediaKind>?
    /// How often its peer said that it stops one.
    var stops = 0
    /// Counts when the present recording, or the segment before it, began.
    var base: [UInt32: SourceCounts] = [:]
    var olderBase: [UInt32: SourceCounts] = [:]

    /// Counts of each source until now.
    var countsBySSRC: [UInt32: SourceCounts] {
        Dictionary(self.sources().map { ($0.ssrc, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Another recording begins, which counts from here on.
    mutating func recordingBegins() {
        self.olderBase = self.base
        self.base = self.countsBySSRC
    }
}

/// When the account of a source is journalled before it ends, so that a crash does not lose it: soon after the first packet
/// that is refused, then less and less often.
struct AccountSchedule: Sendable, Hashable {
    private static let longestWait = Duration.seconds(600)

    private var due: Int64 = .min
    private var wait = Duration.seconds(5)
    private var refused: UInt64 = 0
    /// Whether a line in the log was due for it.
    var isLogged = false

    /// Whether an account with this many refused packets is journalled now.
    mutating func isDue(_ refused: UInt64, at now: Int64) -> Bool {
        guard refused != self.refused, now >= self.due else { return false }
        self.refused = refused
        self.due = now &+ self.wait.nanoseconds
        self.wait = min(self.wait * 2, Self.longestWait)
        return true
    }
}

/// The accounts of all packets that came for a recording.
extension RecordingSession {
    /// Limit of sources of one connection that have no track but an account each; all further ones share one account.
    private static let mostStrangers = 16

    struct SourceKey: Hashable, Sendable {
        var connection: UInt64
        var ssrc: UInt32

        init(_ account: SourceCounted) {
            (self.connection, self.ssrc) = (account.connection, account.ssrc)
        }
    }

    /// A peer connection came.
    ///
    /// - Parameter sources: what was counted of each of its sources until now, also when it is closed; called on the session's
    ///   thread, now and then.
    public mutating func connectionOpened(
        _ id: UInt64,
        participant: String,
        sources: @escaping @Sendable () -> [SourceCounts]
    ) {
        self.connections[id] = OpenConnection(participant: participant, sources: sources)
    }

    /// Our answer refuses audio or video that the peer of a connection would send.
    public mutating func mediaRefused(_ kind: MediaKind, reason: String, of connection: UInt64) {
        guard let opened = self.connections[connection], opened.refused.count < Self.mostStrangers else { return }
        let record = MediaRefused(participant: opened.participant, media: kind, reason: reason)
        self.connections[connection]?.refused.append(record)
        self.recording?.journal.note(.mediaRefused(record), monotonicNanoseconds: self.now)
    }

    /// The peer and Tapedeck agreed which media may come on a connection, and no others.
    public mutating func mediaAwaited(_ kinds: Set<MediaKind>, of connection: UInt64) {
        guard let opened = self.connections[connection] else { return }
        if !opened.isUp {
            let since = opened.awaited?.since ?? self.now
            self.connections[connection]?.awaited = kinds.isEmpty ? nil : (kinds, since)
        }
        self.connections[connection]?.agreed = kinds
        self.noteStopped((opened.agreed ?? []).subtracting(kinds), connection, opened.participant)
        let resumed = kinds.intersection(self.stopped[opened.participant] ?? [])
        guard !resumed.isEmpty else { return }
        self.stopped[opened.participant]?.subtract(resumed)
        self.mark(resumed, [.audio: "unmuted", .video: "camera-on"], of: opened.participant)
    }

    /// A peer says that it sends some kinds no more: nothing is missing until it says otherwise, or leaves.
    private mutating func noteStopped(_ kinds: Set<MediaKind>, _ connection: UInt64, _ participant: String) {
        let elsewhere = self.connections.values.filter { $0.participant == participant }
            .reduce(into: Set<MediaKind>()) { $0.formUnion($1.agreed ?? []) }
        let gone = kinds.subtracting(elsewhere).subtracting(self.stopped[participant] ?? [])
        guard !gone.isEmpty, self.connections[connection]?.stops ?? .max < Self.mostStops else { return }
        self.connections[connection]?.stops += 1
        self.stopped[participant, default: []].formUnion(gone)
        self.mark(gone, [.audio: "muted", .video: "camera-off"], of: participant)
    }

    /// Journals, by kind, what a participant said of what it sends.
    private mutating func mark(_ kinds: Set<MediaKind>, _ names: [MediaKind: String], of participant: String) {
        guard let recording = self.recording, recording.joined.contains(participant) else { return }
        for name in kinds.compactMap({ names[$0] }).sorted() {
            let marker = Marker(name: name, participant: participant)
            recording.journal.note(.marker(marker), monotonicNanoseconds: self.now)
        }
    }

    /// A peer that says so more often is not believed.
    private static let mostStops = 1_000

    /// Media can come on a connection.
    public mutating func connectionCameUp(_ connection: UInt64) {
        self.connections[connection]?.awaited = nil
        self.connections[connection]?.isUp = true
    }

    /// A recording says of what a connection that did not come about would have carried, each once.
    private mutating func noteAwaited(_ connection: UInt64, _ recording: ActiveRecording, reason: String, _ now: Int64)
    {
        guard let opened = self.connections[connection], let (kinds, since) = opened.awaited else { return }
        let waited = now - max(since, recording.beganAt)
        guard waited >= Self.shortestWait.nanoseconds else { return }
        for kind in kinds.sorted(by: { $0.rawValue < $1.rawValue }) {
            let key = AwaitedKey(recording: recording.folder.id, participant: opened.participant, kind: kind)
            guard self.missed.count < Self.mostMissed, self.missed.insert(key).inserted else { continue }
            let record = MediaRefused(
                participant: opened.participant,
                media: kind,
                reason: reason,
                awaitedNanoseconds: waited
            )
            recording.journal.note(.mediaRefused(record), monotonicNanoseconds: now)
        }
    }

    /// Connections take less than that to come about; one that ends earlier is no fault.
    private static let shortestWait = Duration.seconds(5)
    private static let mostMissed = 128

    /// Media that never came.
    struct AwaitedKey: Hashable, Sendable {
        var recording: RecordingID
        var participant: String
        var kind: MediaKind
    }

    /// The recording that began says what is refused already.
    mutating func noteRefusedMedia() {
        let now = self.now
        for (_, connection) in self.connections.sorted(by: { $0.key < $1.key }) {
            for record in connection.refused {
                self.recording?.journal.note(.mediaRefused(record), monotonicNanoseconds: now)
            }
        }
    }

    /// The recording that begins now counts from here on.
    mutating func accountsBegin(asSegment: Bool) {
        for track in self.tracks.values { track.recordingBegins(asSegment: asSegment) }
        for id in self.connections.keys { self.connections[id]?.recordingBegins() }
        self.accountSchedules = [:]
        // The present recording becomes the segment before, of which some losses may still be reported.
        self.missed = self.missed.filter { $0.recording == self.recording?.folder.id }
    }

    /// The accounts of a connection's sources from which anything came for the recording; a connection without an
    /// announcement has those of its tracks.
    func accounts(of connection: UInt64, ofOlder: Bool = false, isFinal: Bool = false) -> [SourceCounted] {
        let now = self.now
        let opened = self.connections[connection]
        let base = (ofOlder ? opened?.olderBase : opened?.base) ?? [:]
        let tracks = self.tracks.values.filter { $0.received.connection == connection }.sorted { $0.id < $1.id }
        let counts = opened?.countsBySSRC ?? [:]
        var known: [SourceCounted] = []
        var strangers: [SourceCounted] = []
        for ssrc in Set(counts.keys).union(tracks.map(\.received.ssrc)).sorted() {
            let own = tracks.filter { $0.received.ssrc == ssrc }
            if own.isEmpty, counts[ssrc]?.isRepair == true { continue }
            let record = SourceLedger(
                connection: connection,
                ssrc: ssrc,
                participant: opened?.participant ?? own.first?.received.participant ?? "",
                counts: counts[ssrc],
                base: base[ssrc],
                parts: own.map { $0.ledgerPart(ofOlder: ofOlder, at: now) },
                isFinal: isFinal
            ).record()
            guard record.ofRecording > 0 else { continue }
            if own.isEmpty { strangers.append(record) } else { known.append(record) }
        }
        return known + Self.bounded(strangers)
    }

    /// The first records up to the limit, and one account of the rest.
    private static func bounded(_ records: [SourceCounted]) -> [SourceCounted] {
        let largest = records.sorted { ($1.ofRecording, $0.ssrc) < ($0.ofRecording, $1.ssrc) }
        guard var rest = largest.dropFirst(Self.mostStrangers).first else { return largest }
        for record in largest.dropFirst(Self.mostStrangers + 1) { rest.add(record) }
        rest.ssrc = 0
        return largest.prefix(Self.mostStrangers) + [rest]
    }

    /// A connection is over: the accounts of its sources are complete.
    mutating func closeAccounts(of connection: UInt64, reason: String, _ now: Int64) {
        if let older = self.older {
            self.close(self.accounts(of: connection, ofOlder: true, isFinal: true), older, now)
        }
        if let recording = self.recording {
            self.close(self.accounts(of: connection, isFinal: true), recording, now)
            self.noteAwaited(connection, recording, reason: reason, now)
        }
        self.unrecorded.forget(connection)
        self.connections[connection] = nil
    }

    /// A recording, or the segment before it, is over: what came for it until now.
    mutating func closeAccounts(of recording: ActiveRecording, ofOlder: Bool, _ now: Int64) {
        for id in self.countedConnections {
            self.close(self.accounts(of: id, ofOlder: ofOlder), recording, now)
            self.noteAwaited(id, recording, reason: "the recording ended first", now)
            self.unrecorded.forget(id)
        }
        if ofOlder { for track in self.tracks.values { track.olderEnds() } }
    }

    /// Journals the accounts in which packets are refused, soon and then seldom.
    mutating func noteGrowingAccounts(_ now: Int64) {
        guard let recording = self.recording else { return }
        for id in self.countedConnections {
            let accounts = self.accounts(of: id)
            self.unrecorded.note(accounts + (self.older == nil ? [] : self.accounts(of: id, ofOlder: true)), of: id)
            for account in accounts where account.refusedPackets > 0 || account.hasLoss {
                let key = SourceKey(account)
                let isFirst = self.accountSchedules[key] == nil
                let refused = account.refusedPackets &+ (account.doubtful ?? 0) &+ (account.skipped ?? 0)
                let isDue = self.accountSchedules[key, default: AccountSchedule()].isDue(refused, at: now)
                if isDue { recording.journal.note(.sourceCounted(account), monotonicNanoseconds: now) }
                // A source that just began has no packet in a file yet.
                if account.hasLoss || (account.isUnrecorded && isDue && !isFirst) { self.logOnce(account) }
            }
        }
    }

    private var countedConnections: [UInt64] {
        Set(self.connections.keys).union(self.tracks.values.map(\.received.connection)).sorted()
    }

    private mutating func close(_ accounts: [SourceCounted], _ recording: ActiveRecording, _ now: Int64) {
        self.unrecorded.close(accounts)
        for account in accounts {
            recording.journal.note(.sourceCounted(account), monotonicNanoseconds: now)
            if account.losesMedia { self.logOnce(account) }
        }
    }

    /// One line in the log for each source and recording.
    private mutating func logOnce(_ account: SourceCounted) {
        let key = SourceKey(account)
        guard self.accountSchedules[key]?.isLogged != true else { return }
        self.accountSchedules[key, default: AccountSchedule()].isLogged = true
        self.actions.append(.logRefused(account))
    }
}

extension SourceCounted {
    /// Adds what became of another source's packets.
    fileprivate mutating func add(_ other: SourceCounted) {
        self.received &+= other.received
        self.before &+= other.before
        self.recorded &+= other.recorded
        self.empty &+= other.empty
        self.waiting &+= other.waiting
        self.isFinal = self.isFinal && other.isFinal
        for (reason, figure) in other.refused {
            self.refused[reason, default: RefusedPackets()] += figure
        }
    }
}

/// Packets that are in no file, by participant and reason; totals only rise.
struct UnrecordedPackets: Sendable {
    /// Participants of whom totals are kept; those beyond are counted together, under an empty name.
    private static let mostParticipants = 1024

    private var closed: [String: [RefusalReason: UInt64]] = [:]
    /// Refusals of open accounts, by connection.
    private var open: [UInt64: [String: [RefusalReason: UInt64]]] = [:]

    /// The totals.
    var totals: [String: [RefusalReason: UInt64]] {
        self.open.values.reduce(into: self.closed) { totals, counts in
            totals.merge(counts) { $0.merging($1, uniquingKeysWith: &+) }
        }
    }

    /// Notes the present accounts of a connection.
    mutating func note(_ accounts: [SourceCounted], of connection: UInt64) {
        self.open[connection] = Self.sum(accounts)
    }

    /// Accounts are closed.
    mutating func close(_ accounts: [SourceCounted]) {
        for (participant, counts) in Self.sum(accounts) {
            let isKept = self.closed[participant] != nil || self.closed.count < Self.mostParticipants
            self.closed[isKept ? participant : "", default: [:]].merge(counts, uniquingKeysWith: &+)
        }
    }

    /// A connection's accounts are closed.
    mutating func forget(_ connection: UInt64) {
        self.open[connection] = nil
    }

    private static func sum(_ accounts: [SourceCounted]) -> [String: [RefusalReason: UInt64]] {
        accounts.reduce(into: [:]) { sum, account in
            let counts = account.refused.mapValues(\.packets).filter { $0.value > 0 }
            guard !counts.isEmpty else { return }
            sum[account.participant, default: [:]].merge(counts, uniquingKeysWith: &+)
        }
    }
}
