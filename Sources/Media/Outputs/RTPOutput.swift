// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import Matroska
internal import Model
internal import PipelineCatalogue
internal import Recording
internal import Storage

/// One output of a room: its places, and the participants that have them.
struct RTPOutput {
    let settings: RTPOutputSettings
    /// The same with ports, where they are of our choice.
    private var target: OutputSpec
    private let room: String
    /// Where packets go; nil while the host's name is looked up for the first time, or after nothing got there.
    private(set) var address: String?
    /// Whether the name is being looked up.
    private(set) var isLookingUp = false
    private var nextLookUp: Int64 = 0
    private var places: OutputPlaces
    private var sessions: [String: OutputSession] = [:]
    /// Counters of streams that have ended.
    private var ended = RTPStreamCounters()
    private var before = RTPStreamCounters()
    private var health = OutputHealth()
    /// Why a packet was dropped last, by streams that may have been closed since.
    private var lastError: String?
    private var isChanged = false
    /// The pseudo-participant whose audio and video the one slot of `followsSpeaker` has; no participant has this id.
    private static let speaking = ""

    init(_ settings: RTPOutputSettings, room: String) {
        self.settings = settings
        self.target = settings.spec
        self.room = room
        self.places = OutputPlaces(count: settings.spec.participants)
        self.address = IPAddress(settings.spec.host) != nil ? settings.spec.host : nil
        // Files left behind by an earlier run are not true any more.
        for place in 0..<settings.spec.participants {
            settings.spec.sdpFile(place: place).map(Self.removeDescription)
        }
    }

    private var isNamed: Bool { IPAddress(self.settings.spec.host) == nil }

    /// Whether the host's name is to be looked up now; then `lookedUp` must follow.
    mutating func startsLookUp(now: Int64) -> Bool {
        guard self.isNamed, self.address == nil || self.settings.spec.label == nil else { return false }
        guard !self.isLookingUp, now >= self.nextLookUp else { return false }
        self.isLookingUp = true
        return true
    }

    /// Takes what was found: an address that is not among it any more is replaced.
    ///
    /// A name is looked up again after a minute, and after ten seconds if nothing was found.
    mutating func lookedUp(_ addresses: [String], now: Int64) {
        self.isLookingUp = false
        let isKept = self.address.map { addresses.isEmpty || addresses.contains($0) } ?? false
        if !isKept { self.address = addresses.first }
        self.nextLookUp = now + (addresses.isEmpty ? 10_000_000_000 : 60_000_000_000)
        self.health.noteLookUp(self.address != nil)
    }

    /// Closes streams that do not reach any receiver, for `settle` to open them again; once a second.
    mutating func look(now: Int64) {
        self.lastError = self.lines.compactMap(\.stream.lastError).last
        guard self.settings.spec.label == nil else { return }
        var isStuck = false
        for participant in Array(self.sessions.keys) {
            let isSessionStuck = self.sessions[participant]?.look(now: now) ?? false
            isStuck = isStuck || isSessionStuck
        }
        guard isStuck, self.isNamed else { return }
        self.address = nil
        self.nextLookUp = now
        for participant in Array(self.sessions.keys) { self.sessions[participant]?.close() }
    }

    private var lines: [OutputSession.Line] { self.sessions.values.flatMap(\.lines.values) }

    /// Gives places and streams to tracks, and takes them away.
    ///
    /// - Parameter speaker: who speaks, for an output that follows.
    mutating func settle(_ all: [OutputTrack], names: ParticipantNames, speaker: String?, now: Int64) {
        guard let address = self.address else { return }
        let tracks = self.settings.spec.followsSpeaker ? Self.speaking(of: all, speaker) : all
        self.health.beginSetUp()
        for track in tracks where self.isWanted(track.participant, names) {
            guard self.choosePorts() else { break }
            guard let place = self.places.take(for: track.participant) else { continue }
            if self.sessions[track.participant] == nil {
                self.sessions[track.participant] = OutputSession(
                    participant: track.participant,
                    place: place,
                    now: now
                )
            }
        }
        for participant in self.places.participants {
            guard var session = self.sessions[participant] else { continue }
            do throws(GStreamerError) {
                let own = self.isWanted(participant, names) ? tracks.filter { $0.participant == participant } : []
                try session.send(own, self.target, to: address, now: now)
            } catch {
                self.health.noteSetUp(error.message)
            }
            self.describe(&session, at: address, names[participant], now)
            self.sessions[participant] = session
            if let since = session.emptySince, now - since >= OutputSession.patience { self.end(participant) }
        }
    }

    /// The tracks of the speaker, as those of one participant that never leaves; before anyone has spoken, those of the
    /// first participant.
    private static func speaking(of tracks: [OutputTrack], _ speaker: String?) -> [OutputTrack] {
        let chosen = tracks.contains { $0.participant == speaker } ? speaker : tracks.first?.participant
        return tracks.filter { $0.participant == chosen }.map { track in
            var track = track
            track.participant = Self.speaking
            return track
        }
    }

    /// Whether streams came, went or changed since this was asked last.
    mutating func takeChange() -> Bool {
        defer { self.isChanged = false }
        return self.isChanged
    }

    /// Chooses the ports of the next participant, where they are ours to choose; false if none are free.
    private mutating func choosePorts() -> Bool {
        guard let pipeline = self.settings.pipeline, self.sessions.isEmpty else { return true }
        guard let first = LoopbackPorts.four() else {
            self.health.noteSetUp("no UDP ports are free on 127.0.0.1")
            return false
        }
        if pipeline.takes(.video) { self.target.videoPort = first }
        if pipeline.takes(.audio) { self.target.audioPort = first + 2 }
        return true
    }

    private func isWanted(_ participant: String, _ names: ParticipantNames) -> Bool {
        guard let wanted = self.settings.spec.participant else { return true }
        return participant == wanted || names[participant] == wanted
    }

    private mutating func describe(
        _ session: inout OutputSession,
        at address: String,
        _ name: String?,
        _ now: Int64
    ) {
        let title = "\(self.room) \(name ?? session.participant)"
        let isChanged = session.describe(self.target, at: address, title: title, now: now)
        self.isChanged = self.isChanged || isChanged
        guard let path = self.settings.spec.sdpFile(place: session.place) else { return }
        guard isChanged || session.file == nil, !session.description.isEmpty else { return }
        guard Self.isFree(path) else {
            self.health.noteSetUp("\(path) is there already, and no session description of ours")
            return
        }
        do throws(StorageError) {
            try File.replace(path, with: Array(session.description.utf8))
            session.file = path
        } catch {
            session.file = nil
            self.health.noteSetUp(error.message)
        }
    }

    /// Ends a participant's streams.
    mutating func end(_ participant: String) {
        guard var session = self.sessions.removeValue(forKey: participant) else { return }
        let counters = session.counters
        session.close()
        self.isChanged = true
        session.file.map(Self.removeDescription)
        self.ended = self.ended + counters
        self.places.leave(participant)
    }

    /// Ends everything.
    mutating func close() {
        for participant in Array(self.sessions.keys) { self.end(participant) }
    }

    /// The output's change since the last call; once a second.
    mutating func examine() -> OutputHealth.Change? {
        let total = self.total
        defer { self.before = total }
        // Unread packets of a labelled output are no failure: its clients come and go.
        let dropped = self.settings.spec.label == nil ? total.droppedPackets &- self.before.droppedPackets : 0
        return self.health.examine(
            packets: total.packets &- self.before.packets,
            dropped: dropped,
            error: self.lines.compactMap(\.stream.lastError).last ?? self.lastError
        )
    }

    private var total: RTPStreamCounters {
        self.sessions.values.map(\.counters).reduce(self.ended, +)
    }

    /// How it is.
    var status: RTPOutputStatus {
        let sessions = self.places.participants.compactMap { self.sessions[$0] }.filter { !$0.lines.isEmpty }
        return RTPOutputStatus(
            name: self.settings.spec.name,
            state: self.health.problem != nil ? .failing : sessions.isEmpty ? .idle : .sending,
            reason: self.health.problem,
            sessions: sessions.map { session in
                RTPOutputStatus.Session(
                    participant: session.participant,
                    description: session.publicDescription,
                    streams: [MediaKind.video, .audio].compactMap { session.lines[$0] }.map { line in
                        RTPOutputStatus.Stream(
                            codec: line.format.codec,
                            port: line.port,
                            sourcePort: line.stream.sourcePort,
                            payloadType: line.payloadType,
                            ssrc: line.ssrc,
                            counters: line.stream.counters,
                            isSilent: line.silence.isSilent,
                            statedSets: line.format.statedSets
                        )
                    }
                )
            },
            total: self.total
        )
    }

    /// Whether the path is free or has a description of ours: a user who may define rooms must not replace other files.
    private static func isFree(_ path: String) -> Bool {
        do {
            return Self.isDescription(try File(path, .read))
        } catch {
            return error.code == .notFound
        }
    }

    /// Removes a description of ours; whatever else has that name stays.
    private static func removeDescription(_ path: String) {
        guard let file = try? File(path, .read), Self.isDescription(file) else { return }
        file.remove()
    }

    private static func isDescription(_ file: File) -> Bool {
        let beginning = Array(OutputDescription.beginning.utf8)
        return (try? file.read(offset: 0, count: beginning.count)) == beginning
    }
}
