// SPDX-License-Identifier: Apache-2.0

internal import Matroska
internal import Media
internal import Session
internal import Signalling
internal import Storage
internal import Supervision

extension RoomStatus {
    /// Tracks that one status lists at most: a line has to hold them.
    private static let maximumTracks = 512

    /// What session and recorder know.
    ///
    /// Control thread: jitter is read from the pipelines.
    init(_ session: RoomSessionStatus, _ recorder: RoomRecorder, jitter: (TrackStatus) -> Double?) {
        self.init()
        self.isJoined = session.isJoined
        self.recordingState =
            switch recorder.phase {
            case .off: .off
            case .waiting: .waiting
            case .recording: .recording
            case .paused: .paused
            }
        self.recording = recorder.current.map { RecordingReference($0.folder, part: $0.part) }
        self.participants = session.presentPeers.map(\.rawValue).sorted().map { id in
            Participant(id: id, isConnected: session.connectedPeers.contains(PeerID(id)))
        }
        let isRecording = self.recording != nil
        self.tracks = recorder.tracks.filter { $0.isOpen || isRecording }.suffix(Self.maximumTracks).map { track in
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
                isOpen: track.isOpen
            )
        }
        self.counters = session.counters
    }
}
