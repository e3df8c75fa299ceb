// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import Matroska
internal import Media
internal import Model
internal import Recording
internal import Session
internal import Signalling
internal import Storage
internal import Timeline

extension RoomStatus {
    /// Tracks that one status lists at most: a line must hold them.
    private static let maximumTracks = 512

    /// What session and recorder know.
    ///
    /// Control thread: jitter and round trips are read from the pipelines.
    init(
        _ session: RoomSessionStatus,
        _ recorder: RoomRecorder,
        _ outputs: [RTPOutputStatus],
        _ camera: CameraSource?,
        jitter: (TrackStatus) -> Double?,
        roundTrip: (PeerID) -> Double?,
        refusedPackets: (PeerID) -> UInt64,
        droppedReports: (PeerID) -> UInt64
    ) {
        self.init()
        let recorded = recorder.status
        (self.isJoined, self.capacity, self.rivalEpoch) = (session.isJoined, session.capacity, session.rivalEpoch)
        self.recordingState =
            switch recorded.phase {
            case .off: .off
            case .waiting: .waiting
            case .recording: .recording
            case .paused: .paused
            }
        self.recording = recorded.current.map { RecordingReference($0.folder, part: $0.part) }
        let lag = recorder.takeLag()
        self.recordingLagMilliseconds = lag.map { $0.maximum / .milliseconds(1) }
        self.meanRecordingLagMilliseconds = lag.map { $0.mean / .milliseconds(1) }
        let shown = Self.shownNames(recorded, session)
        self.participants = session.presentPeers.sorted { $0.rawValue < $1.rawValue }.map { peer in
            let isConnected = session.connectedPeers.contains(peer)
            return Participant(
                id: peer.rawValue,
                name: session.names[peer],
                shownName: shown[peer.rawValue],
                isConnected: isConnected,
                awaitedKinds: (session.awaitedKinds[peer] ?? []).sorted { $0.rawValue < $1.rawValue },
                path: isConnected ? session.paths[peer].map(Path.init) : nil,
                roundTripMilliseconds: isConnected ? roundTrip(peer) : nil,
                refusedPackets: refusedPackets(peer),
                droppedReports: droppedReports(peer),
                droppedUnits: recorder.droppedUnits(of: peer.rawValue),
                unrecordedPackets: Dictionary(
                    (recorded.unrecorded[peer.rawValue] ?? [:]).map { ($0.key.rawValue, $0.value) },
                    uniquingKeysWith: &+
                )
            )
        }
        let isRecording = self.recording != nil
        self.tracks = Self.listed(recorded.tracks.filter { $0.isOpen || isRecording }, isOpen: \.isOpen).map { track in
            Track(
                number: track.number,
                participant: track.participant,
                kind: track.codec.kind.rawValue,
                codec: track.codec.rawValue,
                width: track.size?.width,
                height: track.size?.height,
                units: track.units,
                bytes: track.bytes,
                lostPackets: track.lostPackets,
                jitterMilliseconds: track.isOpen ? jitter(track) : nil,
                keyframeRequests: track.keyframeRequests,
                sound: recorder.audioLevel(of: track).map(Sound.init),
                isOpen: track.isOpen
            )
        }
        self.camera = camera.map(Camera.init)
        self.outputs = outputs.isEmpty ? nil : outputs.map(Output.init)
        self.cameraBitsPerSecond = camera?.targetBitsPerSecond
        self.cameraReductions = camera?.reductions
        self.cameraFailures = camera?.failures
        self.cameraDropped = camera?.dropped.values.reduce(0, +)
        self.counters = session.counters
    }
}

extension RoomStatus {
    /// How people see those who send, as the recorder has it, and all others who are present.
    private static func shownNames(_ recorded: RecordingStatus, _ session: RoomSessionStatus) -> ShownNames {
        // A track that ended may have the name of before.
        let tracks = recorded.tracks.filter(\.isOpen) + recorded.tracks.filter { !$0.isOpen }
        let others = session.presentPeers.sorted { $0.rawValue < $1.rawValue }
        let people: [(id: String, name: String?)] =
            tracks.map { (id: $0.participant, name: $0.shownName) }
            + others.map { (id: $0.rawValue, name: session.names[$0]) }
        return ShownNames(people)
    }

    /// The tracks that a status lists, in their order: all that are open, and the newest of the others.
    static func listed<Listed>(
        _ tracks: [Listed],
        isOpen: (Listed) -> Bool,
        most: Int = Self.maximumTracks
    ) -> [Listed] {
        var left = max(0, most - tracks.count(where: isOpen))
        let newest = tracks.reversed().filter { track in
            if isOpen(track) { return true }
            left -= 1
            return left >= 0
        }
        return newest.prefix(most).reversed()
    }
}

extension RoomStatus.Sound {
    fileprivate init(_ level: AudioLevel) {
        self.init(levelDecibels: level.decibels, silentSeconds: level.silence / .seconds(1))
    }
}

extension RoomStatus.Camera {
    fileprivate init(_ camera: CameraSource) {
        let settings = camera.settings
        self.init(video: settings.video?.shown, audio: settings.audio?.shown)
        (self.width, self.height) = (settings.width, settings.height)
        self.framesPerSecond = settings.framesPerSecond
        self.isVideoMuted = settings.isVideoMuted
        self.isAudioMuted = settings.isAudioMuted
        self.isFrozen = settings.isFrozen
        self.showsSlate = camera.showsSlate
        self.sound = camera.audioLevel.map(RoomStatus.Sound.init)
    }
}

extension RoomStatus.Output {
    fileprivate init(_ status: RTPOutputStatus) {
        self.init(
            name: status.name,
            state: status.state.rawValue,
            reason: status.reason,
            sessions: status.sessions.map { session in
                Session(
                    participant: session.participant,
                    sdp: session.description,
                    streams: session.streams.map(Stream.init)
                )
            },
            packets: status.total.packets,
            bytes: status.total.bytes,
            droppedPackets: status.total.droppedPackets
        )
    }
}

extension RoomStatus.Output.Stream {
    fileprivate init(_ stream: RTPOutputStatus.Stream) {
        self.init(
            kind: stream.codec.kind.rawValue,
            codec: stream.codec.rawValue,
            port: stream.port,
            sourcePort: stream.sourcePort,
            payloadType: stream.payloadType,
            ssrc: stream.ssrc,
            packets: stream.counters.packets,
            bytes: stream.counters.bytes,
            droppedPackets: stream.counters.droppedPackets,
            keyframeRequests: stream.counters.keyframeRequests
        )
    }
}

extension RoomStatus.Path {
    fileprivate init(_ path: MediaPath) {
        self.init(local: End(path.pair.local), remote: End(path.pair.remote), relay: path.relay)
    }
}

extension RoomStatus.Path.End {
    fileprivate init(_ end: SelectedPair.End) {
        self.init(kind: end.kind, address: end.address, port: end.port, transport: end.transport)
    }
}
