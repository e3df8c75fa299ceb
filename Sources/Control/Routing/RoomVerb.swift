// SPDX-License-Identifier: Apache-2.0

/// What a room can be told, as the path says it.
enum RoomVerb: String, Sendable, Hashable, CaseIterable {
    case record, pause, resume, stop, keyframe, camera, mark

    var body: BodyRule {
        switch self {
        case .record, .pause, .resume, .stop: .none
        case .keyframe: .optionalJSON
        case .camera, .mark: .json
        }
    }
}
