// SPDX-License-Identifier: Apache-2.0

/// Cases that every protocol must survive, by name.
///
/// Each protocol's suite runs all of them, with the raw bytes of its own wire; where a protocol has no such thing, its
/// suite says so in a comment next to the case and checks that nothing of the kind is accepted.
enum MustSurvive: String, CaseIterable, Sendable {
    case candidateBeforeOffer
    case candidateBeforeAnswer
    case twoOffersInARow
    case answerWithoutOffer
    case duplicateAnswer
    case offerWithNewSessionIDWhileConnected
    case glare
    case echoOfOurOwnOffer
    case labelAsInteger
    case labelAsFloat
    case labelAsString
    case labelMissing
    case midMissing
    case midNull
    case midWrong
    case candidateLineWithPrefix
    case candidateLineWithAttributePrefix
    case candidateLineWithoutPrefix
    case candidateLineEmpty
    case candidateLineNull
    case descriptionAsString
    case descriptionAsObject
    case unknownEvent
    case nonJSONFrame
    case oversizedFrame
    case sdesOnlyOffer
    case planBOffer
    case receiveOnlyOffer
    case audioOnlyOffer
    case duplicatePayloadTypes
    case peerVanishesWithoutAWord
    case serverRestarts
    case roomFullFor90Seconds
}
