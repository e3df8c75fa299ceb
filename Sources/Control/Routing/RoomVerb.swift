// SPDX-License-Identifier: Apache-2.0

/// An action on a room, as it appears in the path.
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
