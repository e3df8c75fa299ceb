// SPDX-License-Identifier: Apache-2.0

import Model
import Observability
import Testing

@testable import Daemon

/// What metrics tell of a room, made of its worker's status.
struct RoomMeasurementTests {
    /// Every figure is another number.
    @Test func everyFigureOfAStatusIsTold() {
        var status = RoomStatus()
        status.recordingState = .recording
        status.recordingLagMilliseconds = 1500
        status.cameraBitsPerSecond = 2
        status.cameraReductions = 3
        status.cameraFailures = 4
        status.cameraDropped = 5
        status.participants = [
            RoomStatus.Participant(
                id: "alice",
                isConnected: true,
                roundTripMilliseconds: 250,
                refusedPackets: 6,
                droppedReports: 7,
                droppedUnits: 8,
                unrecordedPackets: ["paused": 22, "no reason of ours": 23]
            ),
            RoomStatus.Participant(id: "bob", isConnected: true, roundTripMilliseconds: 125, refusedPackets: 9),
        ]
        var camera = RoomStatus.Camera(video: "test", audio: "test")
        camera.sound = RoomStatus.Sound(levelDecibels: -10, silentSeconds: 11)
        status.camera = camera
        status.tracks = [
            RoomStatus.Track(
                number: 12,
                participant: "alice",
                kind: "audio",
                codec: "opus",
                bytes: 13,
                lostPackets: 14,
                jitterMilliseconds: 500,
                keyframeRequests: 15,
                sound: RoomStatus.Sound(levelDecibels: -16, silentSeconds: 17),
                isOpen: false
            )
        ]
        status.outputs = [
            RoomStatus.Output(name: "first", state: "failing", packets: 18, bytes: 19, droppedPackets: 20),
            RoomStatus.Output(name: "second", state: "sending", packets: 21),
        ]
        let expected = RoomMeasurement(
            participants: 2,
            isRecording: true,
            recordingLagSeconds: 1.5,
            roundTripSeconds: 0.25,
            refusedPackets: ["alice": 6, "bob": 9],
            droppedReports: ["alice": 7, "bob": 0],
            droppedUnits: ["alice": 8, "bob": 0],
            unrecordedPackets: ["alice": ["paused": 22], "bob": [:]],
            cameraAudio: RoomMeasurement.Sound(decibels: -10, silentSeconds: 11),
            cameraBitsPerSecond: 2,
            cameraReductions: 3,
            cameraFailures: 4,
            cameraDropped: 5,
            tracks: [
                RoomMeasurement.Track(
                    number: 12,
                    participant: "alice",
                    kind: "audio",
                    codec: "opus",
                    isOpen: false,
                    bytes: 13,
                    lostPackets: 14,
                    keyframeRequests: 15,
                    jitterSeconds: 0.5,
                    sound: RoomMeasurement.Sound(decibels: -16, silentSeconds: 17)
                )
            ],
            outputs: [
                RoomMeasurement.Output(name: "first", isFailing: true, packets: 18, bytes: 19, droppedPackets: 20),
                RoomMeasurement.Output(name: "second", isFailing: false, packets: 21, bytes: 0, droppedPackets: 0),
            ]
        )
        #expect(RoomMeasurement(status) == expected)
    }

    @Test func whatIsNotKnownIsNotTold() {
        #expect(RoomMeasurement(RoomStatus()) == RoomMeasurement(participants: 0, isRecording: false))
    }
}
